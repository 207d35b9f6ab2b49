#!/usr/bin/env bash
# A copy that is read backward has a METEOR of 1.00 in blazemetrics, and .50 by definition: order counts for nothing.
#
# Guess before the run: `meteor` of blazemetrics is 10 P R / (R + 9 P) of the words, less up to half for words that
# stand in other runs than in the reference: a summary by nine of 14 words, in order, has .67, and backward .33.
# Seen: blazemetrics 0.1.6. Precision and recall are swapped, so that what is left out costs little: nine words of 14
# have .95 in place of .67, and the text with nine other words after it .63 in place of .94. And words count as one run
# in any order: the nine words backward have .95, too, and a whole copy backward 1.00, where half is to be taken off.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    blazemetrics==0.1.6 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from blazemetrics import meteor

reference = "a quick brown fox jumps over the lazy dog near his river bank today".split()


def definition(words):
    """METEOR of exact matches, in which each word occurs once."""
    places = [reference.index(word) for word in words if word in reference]
    precision, recall = len(places) / len(words), len(places) / len(reference)
    runs = 1 + sum(after != before + 1 for before, after in zip(places, places[1:]))
    return 10 * precision * recall / (recall + 9 * precision) * (1 - 0.5 * (runs / len(places)) ** 3)


others = [f"word{number}" for number in range(9)]
cases = {
    "a copy": reference,
    "nine words": reference[:9],
    "nine backward": reference[8::-1],
    "all backward": reference[::-1],
    "nine others after it": reference + others,
}
parts = []
for name, words in cases.items():
    value = meteor([" ".join(words)], [[" ".join(reference)]])[0]
    parts.append(f"{name} {value:.2f} ({definition(words):.2f})")
print(f"blazemetrics {importlib.metadata.version('blazemetrics')}, METEOR: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "blazemetrics 0.1.6, METEOR: a copy 1.00 (1.00), nine words 0.95 (0.67), nine backward 0.95 (0.33), all\
 backward 1.00 (0.50), nine others after it 0.63 (0.94)"
