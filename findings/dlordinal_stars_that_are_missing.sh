#!/usr/bin/env bash
# dlordinal's error of 1-star reviews that are called 5 stars is 1, not 4, and they are right "within one class".
#
# Guess before the run: `amae` and `mmae` are mean distances of classes, and `accuracy_off1` is the share of predictions
# at most one class away: labels are numbers from 0, so that stars that no review has change nothing.
# Seen: dlordinal 2.7.0. The metrics number the classes that occur anew. Of reviews with one and five stars only, as
# many sets have, a model that takes each for the other has an error of 1.00 instead of 4.00 and an accuracy within one
# class of 1.00. A model that says three stars for half of them has .50 instead of 1.00: three stars are left out of
# `accuracy_off1` altogether, because no label has them. `labels=` mends this in `accuracy_off1`; the two errors have no
# such argument, and a test set of few texts scores better than a large one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dlordinal==2.7.0 torch==2.14.1 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from dlordinal.metrics import accuracy_off1, amae, mmae

truth = np.array([0, 4] * 50)
cases = {
    "swapped": 4 - truth,
    "half of them 3 stars": np.where(np.arange(100) < 50, 2, truth),
}
words = []
for name, predictions in cases.items():
    distance = np.abs(truth - predictions)
    right = np.mean([distance[truth == label].mean() for label in (0, 4)])
    words.append(
        f"{name} AMAE {amae(truth, predictions):.2f} of {right:.2f}, MMAE {mmae(truth, predictions):.2f},"
        f" within one {accuracy_off1(truth, predictions):.2f}, with labels"
        f" {accuracy_off1(truth, predictions, labels=np.arange(5)):.2f}, of {np.mean(distance <= 1):.2f}"
    )
print(f"dlordinal {importlib.metadata.version('dlordinal')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dlordinal 2.7.0: swapped AMAE 1.00 of 4.00, MMAE 1.00, within one 1.00, with labels 0.00, of 0.00;\
 half of them 3 stars AMAE 0.50 of 1.00, MMAE 0.50, within one 1.00, with labels 0.50, of 0.50"
