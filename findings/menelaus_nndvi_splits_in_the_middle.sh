#!/usr/bin/env bash
# NNDVI of menelaus takes a part of its reference for new texts, if a batch is smaller: it finds a drift where none is.
#
# Guess before the run: NNDVI compares 100 vectors of texts with 400 of the reference as it does 400: no drift for
# texts of the same two classes, whatever order the reference has, and one for other texts.
# Seen: menelaus 0.2.0 with scikit-learn 1.9.1. The rows of both are put together and cut in the middle, so that with
# 400 and 100 rows the last 150 of the reference count as new. If the reference is in order of its classes, 5 of 5
# batches of the same texts are a drift; if it is shuffled, none of 5 of other texts is, which all are at 400 rows.
# Only batches of the reference's size are compared.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 scikit-learn==1.9.1 joblib==1.6.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    menelaus==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from menelaus.data_drift import NNDVI

np.random.seed(0)
random = np.random.default_rng(0)


def texts(number, shift=0.0):
    """Vectors of two classes of texts, half of each, one class after the other."""
    return np.concatenate([random.normal(2, 1, (number // 2, 5)), random.normal(0, 1, (number // 2, 5))]) + shift


def drifts(reference, size, shift):
    found = 0
    for _ in range(5):
        detector = NNDVI(k_nn=20, sampling_times=50, alpha=0.01)
        detector.set_reference(reference)
        detector.update(random.permutation(texts(size, shift)))
        found += detector.drift_state == "drift"
    return found


by_class = texts(400)
references = {"by class": by_class, "shuffled": random.permutation(by_class)}
parts = []
for size in (400, 100):
    for name, shift in (("the same texts", 0), ("others", 0.5)):
        words = [f"reference {order} {drifts(reference, size, shift)}" for order, reference in references.items()]
        parts.append(f"{size} of {name}: {', '.join(words)}")
print(
    f"menelaus {importlib.metadata.version('menelaus')}, drifts in 5 batches, 400 in the reference: {'; '.join(parts)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "menelaus 0.2.0, drifts in 5 batches, 400 in the reference: 400 of the same texts: reference by class\
 0, reference shuffled 0; 400 of others: reference by class 5, reference shuffled 5; 100 of the same\
 texts: reference by class 5, reference shuffled 0; 100 of others: reference by class 5, reference\
 shuffled 0"
