#!/usr/bin/env bash
# TextAttack's PWWS weighs how far a text's score is after a swap, not how far it has moved: it begins with other words.
#
# Guess before the run: the "weighted-saliency" of `GreedyWordSwapWIR` orders words by the softmax of their saliency
# times "the largest change in score we can find by swapping each word".
# Seen: textattack 0.3.11. The variable is called `score_change` and holds the scores. In a text whose label has .60
# before the attack, a word whose best swap moves it by .05 comes before words whose swaps move it by .20 and .10: all
# swaps count .40 more than they do. In a text of .99 the order is right, for only .01 is added. In 200 random texts of
# ten words with probabilities of .5 to .7 the attack begins with another word in 52. Texts that a model is least sure
# of are attacked in the most wrong order.
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
from textattack.search_methods import GreedyWordSwapWIR
from textattack.shared import AttackedText


def orders(sure, saliency, change):
    """The words in the order of the attack, and by the change of the label's probability."""
    words = [f"w{place}" for place in range(len(change))]
    scores = {f"unk{place}": 1 - sure + value for place, value in enumerate(saliency)}
    scores |= {f"new{place}": 1 - sure + value for place, value in enumerate(change)}
    search = GreedyWordSwapWIR("weighted-saliency", unk_token="unk")

    def results(texts):
        """The score of a text is that of the word that is not one of the original's."""
        found = []
        for text in texts:
            place, word = next((i, word) for i, word in enumerate(text.words) if word != words[i])
            score = scores[f"{word}{place}"]
            found.append(
                ClassificationGoalFunctionResult(
                    text, torch.zeros(2), 0, GoalFunctionResultStatus.SEARCHING, score, 1, 0
                )
            )
        return found, False

    search.get_goal_results = results
    search.get_indices_to_order = lambda text: (len(words), list(range(len(words))))
    search.get_transformations = lambda text, original_text, indices_to_modify: [
        text.replace_word_at_index(indices_to_modify[0], "new")
    ]
    seen = search._get_index_order(AttackedText(" ".join(words)))[0].tolist()
    right = np.exp(saliency) / np.exp(saliency).sum() * change
    return seen, (-right).argsort().tolist()


saliency, change = np.array([0.3, 0.0, 0.2, 0.0]), np.array([0.05, 0.2, 0.0, 0.1])
parts = []
for sure in (0.6, 0.99):
    seen, right = orders(sure, saliency, change)
    parts.append(f"label at {sure} {seen} for {right}")
random = np.random.default_rng(0)
others = 0
for _ in range(200):
    seen, right = orders(random.uniform(0.5, 0.7), random.uniform(0, 0.3, 10), random.uniform(0, 0.3, 10))
    others += seen[0] != right[0]
parts.append(f"another first word in {others} of 200")
print(f"textattack {importlib.metadata.version('textattack')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11: label at 0.6 [0, 1, 3, 2] for [1, 3, 0, 2]; label at 0.99 [1, 3, 0, 2] for [1, 3,\
 0, 2]; another first word in 52 of 200"
