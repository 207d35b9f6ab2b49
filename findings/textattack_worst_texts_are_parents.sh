#!/usr/bin/env bash
# The genetic attack of TextAttack prefers the worst texts as parents: the fitter a text is, the less it is chosen.
#
# Guess before the run: of a population `AlzantotGeneticAlgorithm` takes parents with a probability that grows with
# their score, a softmax at the temperature `temp`.
# Seen: textattack 0.3.11. The scores go from 0 to .90, .45 in the mean. Parents have .25 in the mean, where a softmax
# of the scores at the temperature .3 has .65: the package takes the exponential of minus the score, though it looks for
# the highest score elsewhere. A text of score .90 is taken a twentieth as often as one of score 0.
# `ImprovedGeneticAlgorithm` does the same. Only the best text that is kept, and the change after each crossing, let the
# attack get on.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 nltk==3.10.4 lru-dict==1.4.1 Levenshtein==0.27.5 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textattack==0.3.11
cat > "$folder/program.py" <<'PYTHON'
import importlib.util
import sys
import types
from unittest.mock import MagicMock

# Taggers, dictionaries and models that the package imports and this program has no use for.
names = "flair flair.data flair.models jieba requests filelock pandas pinyin word2number num2words lemminflect datasets"
names += " OpenHowNet language_tool_python bert_score langdetect terminaltables editdistance more_itertools tokenizers"
sys.modules.update({name: MagicMock() for name in [*names.split(), "transformers"]})
package = types.ModuleType("textattack")
package.__path__ = list(importlib.util.find_spec("textattack").submodule_search_locations)
sys.modules["textattack"] = package

import importlib.metadata

import numpy as np
import textattack.shared
import torch
from textattack.goal_function_results import ClassificationGoalFunctionResult, GoalFunctionResultStatus
from textattack.search_methods import AlzantotGeneticAlgorithm, ImprovedGeneticAlgorithm
from textattack.search_methods.population_based_search import PopulationMember
from textattack.shared import AttackedText

scores = np.linspace(0, 0.9, 61)


def result(score):
    raw = torch.tensor([1 - score, score])
    return ClassificationGoalFunctionResult(
        AttackedText("a"), raw, 0, GoalFunctionResultStatus.SEARCHING, score, 1, 0
    )


def parents(method):
    """Mean score of the parents that one round of the search takes."""
    taken = []

    class Search(method):
        def _initialize_population(self, initial, size):
            return [PopulationMember(AttackedText("a"), result(score)) for score in scores]

        def _crossover(self, first, second, original):
            taken.extend([first.result.score, second.result.score])
            return first

        def _perturb(self, member, original, index=None):
            return member

    np.random.seed(0)
    for _ in range(20):
        Search(max_iters=1).perform_search(result(-1.0))
    return np.mean(taken)


softmax = np.exp(scores / 0.3) / np.exp(scores / 0.3).sum()
print(
    f"textattack {importlib.metadata.version('textattack')}, mean score: population {scores.mean():.2f},",
    f"softmax {scores @ softmax:.2f}, parents {parents(AlzantotGeneticAlgorithm):.2f},",
    f"improved {parents(ImprovedGeneticAlgorithm):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, mean score: population 0.45, softmax 0.65, parents 0.25, improved 0.25"
