#!/usr/bin/env bash
# efficientmetrics counts a prediction of class 261 as right for a text of class 5: it keeps a byte of each number.
#
# Guess before the run: a classifier of 300 intents that is wrong about every text has an accuracy of 0; the macro F1 of
# a classifier is that of scikit-learn to two digits.
# Seen: efficientmetrics 0.1.0. The type of both arrays is chosen by the largest class of the labels: up to 127 it is a
# signed byte, and the class 261 of a prediction becomes 5. So an accuracy of 1.00 is reported for a classifier that is
# never right. Precision, recall and F1 of each class are rounded to two digits before they are averaged: two rare
# classes of which 4 in 1,000 texts are found have 0 each. A class that is predicted and has no text is left out of the
# macro mean, .89 for .59 in scikit-learn, so that calling texts by it costs less.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    efficientmetrics==0.1.0 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from efficientmetrics import EfficientMetrics
from sklearn.metrics import accuracy_score, f1_score


def both(labels, predictions):
    metrics = EfficientMetrics(labels, predictions)
    metrics.calculate_confusion_matrix()
    metrics.classification_report()
    ours = f"{metrics.accuracy:.2f} {metrics.f1_macro:.4f}"
    average = f1_score(labels, predictions, average="macro")
    return f"{ours} / {accuracy_score(labels, predictions):.2f} {average:.4f}"


labels = np.arange(100).repeat(3)
rare = np.array([0] * 8000 + [1] * 1000 + [2] * 1000)
found = np.zeros_like(rare)
found[[*range(8000, 8004), *range(9000, 9004)]] = [1] * 4 + [2] * 4
two = np.array([0, 1] * 50)
other = two.copy()
other[:20] = 2
parts = [f"all 256 too high {both(labels, labels + 256)}", f"rare {both(rare, found)}", f"third {both(two, other)}"]
version = importlib.metadata.version("efficientmetrics")
print(f"efficientmetrics {version} / scikit-learn, accuracy and macro F1: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "efficientmetrics 0.1.0 / scikit-learn, accuracy and macro F1: all 256 too high 1.00 1.0000 / 0.00\
 0.0000, rare 0.80 0.2967 / 0.80 0.3017, third 0.80 0.8900 / 0.80 0.5926"
