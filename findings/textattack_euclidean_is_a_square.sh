#!/usr/bin/env bash
# A text's sentence vector may be .7 away where TextAttack's limit of the Euclidean distance is .5: it takes the square.
#
# Guess before the run: a sentence encoder with `metric="max_euclidean"` and `threshold=.5` lets texts pass whose vector
# is at most .5 away from that of the original, for the function says that it "returns the Euclidean distance".
# Seen: textattack 0.3.11. Vectors up to .70 away pass with the threshold .5, and only those up to 2.00 away with 4: the
# sum of squares is compared with the threshold itself. So below 1 the limit is looser than it says, .1 is .31, and
# above 1 it is stricter.
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
from textattack.constraints.semantics.sentence_encoders.sentence_encoder import SentenceEncoder
from textattack.shared import AttackedText

distances = [number / 100 for number in range(1, 601)]


class Encoder(SentenceEncoder):
    """The vectors of texts "d1", "d2" and so on lie that many hundredths away from the one of the text "d0"."""

    def encode(self, sentences):
        return torch.tensor([[int(text[1:]) / 100, 0.0, 1.0] for text in sentences])


original = AttackedText("d0")
texts = [original.replace_word_at_index(0, f"d{number}") for number in range(1, 601)]
parts = []
for threshold in (0.1, 0.5, 1.0, 4.0):
    passed = Encoder(threshold, "max_euclidean")._check_constraint_many(texts, original)
    parts.append(f"{threshold:g} up to {max(int(text.text[1:]) for text in passed) / 100:.2f}")
print(f"textattack {importlib.metadata.version('textattack')}, distances that pass: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textattack 0.3.11, distances that pass: 0.1 up to 0.31, 0.5 up to 0.70, 1 up to 1.00, 4 up to 2.00"
