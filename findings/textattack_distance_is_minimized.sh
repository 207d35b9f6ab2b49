#!/usr/bin/env bash
# An attack of TextAttack that is to maximize the edit distance takes the output that has changed least.
#
# Guess before the run: `MaximizeLevenshtein`, which "attempts to maximise the Levenshtein distance between the current
# output translation and the reference translation", gives the output that is farthest from it the best score, and
# greedy search takes that one.
# Seen: textattack 0.3.11. Three changes of a text, whose outputs are 0, 2 and 17 edits away, have the scores 0, -2 and
# -17: the score is the distance with its sign turned round, and every search method of the package looks for the
# highest score. Greedy search chooses the change that has no effect at all. Only `target_distance`, the end of the
# search, reads the sign rightly: the search goes on until a far output is met by chance.
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
import logging

import textattack.shared
from textattack.goal_functions.text.maximize_levenshtein import MaximizeLevenshtein
from textattack.search_methods import GreedySearch
from textattack.shared import AttackedText

logging.disable(logging.CRITICAL)
outputs = {"a": "Das Haus ist alt.", "b": "Das Haus ist alt.", "c": "Das Haus ist kalt!", "d": "Nun regnet es oft hier"}


class Translator:
    model = None

    def __call__(self, texts):
        return [outputs[text] for text in texts]


goal = MaximizeLevenshtein(Translator(), maximizable=True)
start = AttackedText("a")
initial = goal.init_attack_example(start, outputs["a"])[0]
changes = [start.replace_word_at_index(0, word) for word in "bcd"]
scores = [f"{change.text} {result.score:g}" for change, result in zip(changes, goal.get_results(changes)[0])]
search = GreedySearch()
search.get_goal_results = goal.get_results
search.get_transformations = lambda text, original_text=None: changes if text.text == "a" else []
chosen = search.perform_search(initial)
print(
    f"textattack {importlib.metadata.version('textattack')}, scores: {', '.join(scores)};",
    f"chosen: {chosen.attacked_text.text}, whose output is {chosen.output}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, scores: b 0, c -2, d -17; chosen: b, whose output is Das Haus ist alt."
