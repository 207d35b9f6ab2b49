#!/usr/bin/env bash
# lexicalrichness's MSTTR drops the last segment also if it is full: of a text of 200 words the second half is unread.
#
# Guess before the run: the mean type-token ratio of segments of 100 words leaves out what is left after the last full
# segment, of 250 words the last 50, and of 200 words nothing.
# Seen: lexicalrichness 0.5.1. `discard=True`, the default, deletes the last segment whatever its length. A text of 100
# different words and a word that is repeated 100 times have a ratio of 1.00 in the first half and .01 in the second:
# the mean is 1.00, with one more word 0.51. A corpus that is cut into texts of 1,000 words loses a tenth of each.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lexicalrichness==0.5.1 numpy==2.4.6 scipy==1.17.1 pandas==2.3.3 matplotlib==3.10.8
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import string

from lexicalrichness import LexicalRichness

different = [one + two for one in string.ascii_lowercase[:10] for two in string.ascii_lowercase[:10]]
words = []
for more in (0, 1, 50):
    text = different + ["same"] * (100 + more)
    rich = LexicalRichness(" ".join(text))
    full = [len(set(text[start : start + 100])) / 100 for start in range(0, len(text) - 99, 100)]
    words.append(f"{rich.words} words {rich.msttr(100):.3f} ({sum(full) / len(full):.3f} by hand)")
print(f"lexicalrichness {importlib.metadata.version('lexicalrichness')}, MSTTR of segments of 100: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lexicalrichness 0.5.1, MSTTR of segments of 100: 200 words 1.000 (0.505 by hand), 201 words 0.505 (0.5\
05 by hand), 250 words 0.505 (0.505 by hand)"
