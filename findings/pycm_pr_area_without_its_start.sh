#!/usr/bin/env bash
# PyCM's area under precision and recall lacks its start: a perfect ranking of 4 texts has .50.
#
# Guess before the run: a classifier that gives each positive text a higher score than any negative one has the area 1,
# as scikit-learn's curve, and as PyCM's own area under the ROC curve.
# Seen: PyCM 4.6. The curve begins at the recall of the highest threshold, not at 0: what lies before it is cut off. Two
# of four texts found first lack half of the area. With scores of one digit, as many tools write them, a perfect BERT
# has .75, and which of two classifiers is better depends on how many texts share the highest score. Scores without ties
# lack the part of one positive text: .995 for about 200 of them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pycm==4.6 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from pycm import PRCurve, ROCCurve
from sklearn.metrics import average_precision_score

random = np.random.default_rng(0)
labels = random.integers(0, 2, 400)
scores = 0.3 + 0.3 * labels + 0.2 * random.random(400)
cases = {
    "4 texts": (np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.7, 0.9])),
    "400 texts": (labels, scores),
    "one digit": (labels, scores.round(1)),
}
parts = []
for name, (labels, scores) in cases.items():
    probabilities = np.stack([1 - scores, scores], axis=1)
    areas = [curve(labels, probabilities, classes=[0, 1]).area()[1] for curve in (PRCurve, ROCCurve)]
    parts.append(f"{name} {areas[0]:.3f}, ROC {areas[1]:.3f}, scikit-learn {average_precision_score(labels, scores):.3f}")
print(f"PyCM {importlib.metadata.version('pycm')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "PyCM 4.6: 4 texts 0.500, ROC 1.000, scikit-learn 1.000; 400 texts 0.995, ROC 1.000, scikit-learn \
1.000; one digit 0.751, ROC 1.000, scikit-learn 1.000"
