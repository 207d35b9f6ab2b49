#!/usr/bin/env bash
# A text of twice as many words as its reference has a LEPOR of .96 in lepor, not .21: its penalty for length rewards.
#
# Guess before the run: LEPOR's length penalty is 1 for a text as long as its reference and below 1 for any other, so a
# copy has the highest score, 1.00, and one with words too many, or too few, has less.
# Seen: lepor 0.1.0. The penalty is e to the power of 1 - 10/12 for 12 words of 10, and of 1 - 6/10 for six, so at least
# 1, up to 2.72 for the worst: the fractions are
# upside down. Ten words too many of a reference of ten have .96, where .21 is right, and six of ten words .89, not .30:
# what the factor gives makes up for the precision or the recall that is lost. Summaries and translations that stop in
# the middle, or go on, are hardly told from a copy.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lepor==0.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math

from lepor.sentence_level import length_penalty, sentence_lepor

reference = "the cat sat on the mat near the old door"
outputs = {
    "copy": reference,
    "two words more": reference + " of wood",
    "ten more": reference + " and then it slept there for a long while too",
    "six of ten": " ".join(reference.split()[:6]),
    "one word": "the",
}
words = []
for name, output in outputs.items():
    score = sentence_lepor(reference, output)
    lengths = sorted((len(reference.split()), len(output.split())))
    penalty = length_penalty(reference.split(), output.split())
    right = math.exp(1 - lengths[1] / lengths[0])
    hand = f"{score / penalty * right:.2f} and {right:.2f}"
    words.append(f"{name} {score:.2f} (penalty {penalty:.2f}; by hand {hand})")
print(f"lepor {importlib.metadata.version('lepor')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lepor 0.1.0: copy 1.00 (penalty 1.00; by hand 1.00 and 1.00), two words more 0.99 (penalty 1.18; by\
 hand 0.69 and 0.82), ten more 0.96 (penalty 1.65; by hand 0.21 and 0.37), six of ten 0.89 (penalty 1.49; by hand\
 0.30 and 0.51), one word 0.37 (penalty 2.46; by hand 0.00 and 0.00)"
