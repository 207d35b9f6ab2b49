#!/usr/bin/env bash
# A wrong digit costs nothing in evalnlp's UWER: "give 5 mg" for "give 9 mg" has no error, and "I" is "a".
#
# Guess before the run: the UWER takes part of an error for a word that is nearly right; a dose of 5 for one of 9 is an
# error, whole or in part.
# Seen: evalnlp 0.1.2; jiwer 4.0.0 has .33 and 1.00. By default a replaced word costs 1 minus the Dice share of pairs of
# letters; two words of one letter have no pair, which is counted as all in common. "7 8 9" for "1 2 3" has no error at
# all. Words with the same set of pairs cost nothing, either: "banana" for "banananana".
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    textdistance==4.6.3 jiwer==4.0.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    evalnlp==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jiwer
from evalnlp.uwer import uwer

pairs = (("give 9 mg", "give 5 mg"), ("1 2 3", "7 8 9"), ("a banana", "a banananana"), ("give 99 mg", "give 55 mg"))
parts = [f"'{wrong}' for '{right}' {uwer(right, wrong):.2f} ({jiwer.wer(right, wrong):.2f})" for right, wrong in pairs]
print(f"evalnlp {importlib.metadata.version('evalnlp')}, UWER (WER): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evalnlp 0.1.2, UWER (WER): 'give 5 mg' for 'give 9 mg' 0.00 (0.33); '7 8 9' for '1 2 3' 0.00 (1.00); '\
a banananana' for 'a banana' 0.00 (0.50); 'give 55 mg' for 'give 99 mg' 0.33 (0.33)"
