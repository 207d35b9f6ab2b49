#!/usr/bin/env bash
# pyconll reads "3,000" in CoNLL-U and writes "000,3", and of two enhanced relations to the same word it keeps one.
#
# Guess before the run: a treebank that is loaded and written by pyconll, without a change, is the same, as by
# conllu, udapi and UDPipe, which gave all lines of words back.
# Seen: pyconll 3.3.1. Values of the last column are split at commas into a set and written sorted: the corrected
# spelling "3,000" in the development file of UD English-EWT becomes "000,3". Enhanced dependencies are a dictionary
# by the number of the head: of "13:flat:name|13:punct", as in the test file of UD Finnish-TDT (7 words), the first is
# gone. Nothing is said. Tags of entities in the last column (DaNE, NorNE: SpaceAfter=No|name=O) change places only.
#
# Installs a pinned package into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pyconll==3.3.1 conllu==6.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import conllu
import pyconll

WORDS = [
    ("1", "3,", "3000", "NUM", "CD", "_", "0", "root", "0:root", "CorrectForm=3,000|SpaceAfter=No"),
    ("2", "!", "!", "PUNCT", ".", "_", "1", "punct", "1:flat:name|1:punct", "_"),
]
text = "# sent_id = 1\n" + "".join("\t".join(word) + "\n" for word in WORDS) + "\n"
assert "".join(sentence.serialize() for sentence in conllu.parse(text)) == text
lines = pyconll.load_from_string(text).conll().splitlines()
assert len(lines) == 4
(*_, misc), (*_, relations, _) = (line.split("\t") for line in lines[1:3])
print(f"pyconll {importlib.metadata.version('pyconll')}: {WORDS[0][9]} -> {misc}; {WORDS[1][8]} -> {relations}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pyconll 3.3.1: CorrectForm=3,000|SpaceAfter=No -> CorrectForm=000,3|SpaceAfter=No;\
 1:flat:name|1:punct -> 1:punct"
