#!/usr/bin/env bash
# An insertion before a text's first word changes all words in TextAttack, and one after the last word changes none.
#
# Guess before the run: `MaxWordsPerturbed(max_num_words=1)` lets a text with one inserted or deleted word pass,
# wherever the word is, and no text with six more words.
# Seen: textattack 0.3.11. Words are compared place by place, up to the end of the shorter text. One word before the
# first counts as 11 changes of 11 words, and is refused even with `max_num_words=10`; six words after the last one
# count as 0 changes, and pass with 1. A deletion of the first word is 10 changes, one of the last word none. The same
# count is the "perturbed words" of the package's attack metrics. `words_diff_num` of the same text counts edits: 1, 6,
# 1 and 1.
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
from textattack.constraints.overlap import MaxWordsPerturbed
from textattack.shared import AttackedText

text = "the film was long and the end of it was sad"
kinds = {
    "one word before": f"really {text}",
    "six words after": f"{text} really and truly so it was",
    "without the first": text.split(" ", 1)[1],
    "without the last": text.rsplit(" ", 1)[0],
    "one word swapped": text.replace("film", "movie"),
}
original = AttackedText(text)
parts = []
for name, changed in kinds.items():
    new = AttackedText(changed)
    allowed = [limit for limit in (1, 5, 10) if MaxWordsPerturbed(limit)._check_constraint(new, original)]
    counts = len(original.all_words_diff(new)), original.words_diff_num(new)
    parts.append(f"{name} {counts[0]} for {counts[1]}, passes {allowed}")
print(f"textattack {importlib.metadata.version('textattack')}, changes counted for edits: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, changes counted for edits: one word before 11 for 1, passes []; six words after 0\
 for 6, passes [1, 5, 10]; without the first 10 for 1, passes [10]; without the last 0 for 1, passes [1, 5, 10]; one\
 word swapped 1 for 1, passes [1, 5, 10]"
