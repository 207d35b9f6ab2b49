#!/usr/bin/env bash
# Smith-Waterman of textdistance finds nothing of a sentence of 8 words if 8 others follow it: it reads the last cell.
#
# Guess before the run: `SmithWaterman(qval=None)` is the score of the best local alignment, wherever it is in the
# texts: of a passage that holds a sentence of eight words it is 8.
# Seen: textdistance 4.6.3. It is the score of an alignment that ends at the end of both texts: 8 where the sentence
# ends the passage, 7, 4 and 0 where one, four and eight other words follow it (by definition 8 always). A search for
# copies of training texts in test texts finds those at the end only.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    textdistance==4.6.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from textdistance import SmithWaterman

sentence = [f"w{number}" for number in range(8)]


def best_local(first, second):
    cells = np.zeros((len(first) + 1, len(second) + 1))
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            cells[i, j] = max(0, cells[i - 1, j - 1] + (a == b), cells[i - 1, j] - 1, cells[i, j - 1] - 1)
    return cells.max()


words = []
for after in (0, 1, 4, 8):
    passage = [f"b{number}" for number in range(5)] + sentence + [f"a{number}" for number in range(after)]
    seen = SmithWaterman(qval=None)(" ".join(sentence), " ".join(passage))
    words.append(f"{after} words after it {seen:g} ({best_local(sentence, passage):g})")
print(f"textdistance {importlib.metadata.version('textdistance')} (by definition): {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "textdistance 4.6.3 (by definition): 0 words after it 8 (8), 1 words after it 7 (8), 4 words after it\
 4 (8), 8 words after it 0 (8)"
