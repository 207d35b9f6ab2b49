#!/usr/bin/env bash
# A classifier that is wrong about each text has a Hamming loss of .01 in permetrics, if there are 150 classes.
#
# Guess before the run: the Hamming loss of one label for each text is the share of texts that are wrong, as in
# scikit-learn, and 1 minus the accuracy of the same package.
# Seen: permetrics 2.1.0. Each class is a question of its own, yes or no, and all that are rightly not named count as
# right: always wrong is 0.67 with three classes, 0.10 with 20 and 0.01 with 150, both "macro" and "micro", beside an
# accuracy of 0.00. `get_support` says that its range is 0 to 1. A BERT for 150 intents can't have more than .013, so
# that a bad one looks nearly perfect beside one with three classes.
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

import numpy as np
from permetrics import ClassificationMetric
from sklearn.metrics import hamming_loss

parts = []
for size in (3, 20, 150):
    labels = np.arange(3000) % size
    wrong = (labels + 1) % size
    metric = ClassificationMetric(labels, wrong)
    values = [metric.hamming_loss(average=average) for average in ("macro", "micro")]
    parts.append(
        f"{size} classes {values[0]:.2f} and {values[1]:.2f} ({hamming_loss(labels, wrong):.2f}),"
        f" accuracy {metric.accuracy_score():.2f}"
    )
version = importlib.metadata.version("permetrics")
print(f"permetrics {version}, Hamming loss of a classifier that is always wrong (scikit-learn's): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.1.0, Hamming loss of a classifier that is always wrong (scikit-learn's): 3 classes 0.67\
 and 0.67 (1.00), accuracy 0.00; 20 classes 0.10 and 0.10 (1.00), accuracy 0.00; 150 classes 0.01 and 0.01 (1.00),\
 accuracy 0.00"
