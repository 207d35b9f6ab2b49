#!/usr/bin/env bash
# The hinge loss of a classifier that is always right is 4.00 in permetrics if all its scores are 5 lower, and 0 before.
#
# Guess before the run: `hinge_loss` is Crammer and Singer's for several classes, as scikit-learn's: it compares scores
# of one text, so that it is the same if 5 is taken from all of them.
# Seen: permetrics 2.1.0. The own class counts among the wrong ones with a score of 0, which is the greatest where
# scores are negative. A classifier that is right by 4 has 0.00, and 4.00 if all scores are 5 lower; one that is right
# by .4 has 0.60 and 5.60. Logarithms of probabilities are always negative, logits of many classes often: of two BERTs
# with such scores the loss chooses the one whose own scores are nearer to 0, whatever the margin is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    permetrics==2.1.0 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
from permetrics import ClassificationMetric
from sklearn.metrics import hinge_loss

warnings.simplefilter("ignore")
labels = np.arange(300) % 3
right = np.where(np.eye(3)[labels] == 1, 2.0, -2.0)
close = np.where(np.eye(3)[labels] == 1, 0.4, 0.0)
parts = []
for name, scores in {"sure and right": right, "right by .4": close}.items():
    for change in (0, -5):
        moved = scores + change
        value = ClassificationMetric(labels, moved).hinge_loss()
        parts.append(f"{name}, scores {change:+d}: {value:.2f} ({hinge_loss(labels, moved):.2f})")
print(f"permetrics {importlib.metadata.version('permetrics')}, hinge loss (scikit-learn's): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.1.0, hinge loss (scikit-learn's): sure and right, scores +0: 0.00 (0.00); sure and right,\
 scores -5: 4.00 (0.00); right by .4, scores +0: 0.60 (0.60); right by .4, scores -5: 5.60 (0.60)"
