#!/usr/bin/env bash
# Beam search of TextAttack returns the last text that it made, not the best one: .10 where it had found .90.
#
# Guess before the run: an attack that does not succeed, or that has no end but the best score (`maximizable=True`),
# returns the text with the highest score that beam search has seen.
# Seen: textattack 0.3.11. One change of a text scores .90, and all three .10. Greedy search and beams of 2 and of 8
# return the text with all words changed, .10, which is worse than the text unchanged, .40: the best result is set anew
# in every round, and rounds go on until no word is left.
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

import textattack.shared
import torch
from textattack.goal_function_results import ClassificationGoalFunctionResult, GoalFunctionResultStatus
from textattack.search_methods import BeamSearch, GreedySearch
from textattack.shared import AttackedText

scores = {"a b c": 0.4, "x b c": 0.9, "a y c": 0.3, "a b z": 0.2, "x y c": 0.5, "x b z": 0.3, "a y z": 0.2}
scores["x y z"] = 0.1
swaps = {"a": "x", "b": "y", "c": "z"}


def results(texts):
    status = GoalFunctionResultStatus.MAXIMIZING
    return [
        ClassificationGoalFunctionResult(text, torch.zeros(2), 0, status, scores[text.text], 1, 0) for text in texts
    ], False


def changes(text, original_text=None):
    return [
        text.replace_word_at_index(place, swaps[word]) for place, word in enumerate(text.words) if word in swaps
    ]


parts = []
for name, search in (("greedy", GreedySearch()), ("beam of 2", BeamSearch(2)), ("beam of 8", BeamSearch(8))):
    search.get_goal_results, search.get_transformations = results, changes
    result = search.perform_search(results([AttackedText("a b c")])[0][0])
    parts.append(f"{name} {result.attacked_text.text} {result.score:.2f}")
print(
    f"textattack {importlib.metadata.version('textattack')}, text unchanged {scores['a b c']:.2f},",
    f"best change {max(scores.values()):.2f}; {', '.join(parts)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, text unchanged 0.40, best change 0.90; greedy x y z 0.10, beam of 2 x y z 0.10,\
 beam of 8 x y z 0.10"
