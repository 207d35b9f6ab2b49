#!/usr/bin/env bash
# A ranking that finds nothing has the best mean rank in cute-ranking, 0: a model gets better by finding fewer answers.
#
# Guess before the run: `mean_rank`, the mean rank of the first relevant document, leaves queries out that find none,
# or counts them as worse than the last place.
# Seen: cute-ranking 0.0.3. They count as rank 0, above the first place. A model that finds the answer of ten questions
# at the places 1 to 10 has a mean rank of 5.50; one that loses those below the fifth place has 1.50, and one that
# never finds anything has 0.00. The mean reciprocal rank falls: .29, .23, .00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    cute-ranking==0.0.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from cute_ranking.core import mean_rank, mean_reciprocal_rank

found = np.eye(10, dtype=int)
words = []
for places in (10, 5, 0):
    kept = np.where(np.arange(10) < places, found, 0)
    words.append(f"{places} places {mean_rank(kept):.2f} {mean_reciprocal_rank(kept):.2f}")
print(f"cute-ranking {importlib.metadata.version('cute-ranking')}: mean rank and reciprocal rank: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "cute-ranking 0.0.3: mean rank and reciprocal rank: 10 places 5.50 0.29, 5 places 1.50 0.23, 0 places\
 0.00 0.00"
