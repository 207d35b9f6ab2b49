#!/usr/bin/env bash
# APS and RAPS of puncc give a text at most as many labels as its batch has texts: in batches of two 61 % are covered.
#
# Guess before the run: which labels are in the prediction set of a text has nothing to do with the texts beside it; of
# 1,000 texts with 20 classes 90 % are covered, whether they are predicted at once or by two.
# Seen: puncc 0.9.3, a classifier whose probabilities are true, alpha=0.1. All at once 94 % are covered (91 % with
# randomization), by sets of 8 labels; in batches of five 84 %, of two 61 %, without a word. The size of a set is
# limited by the first dimension of the predictions, which is the number of texts, and not of classes.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    matplotlib==3.10.3 numpy==1.26.4 pandas==2.2.3 scikit-learn==1.6.1 joblib==1.5.1 tqdm==4.67.1 puncc==0.9.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deel.puncc.classification import APS, RAPS

random = np.random.default_rng(0)


class Classifier:
    """Returns the probabilities that it is given."""

    def predict(self, probabilities):
        return probabilities


def draw(count):
    """Returns the probabilities of 20 classes, and labels that are drawn from them."""
    probabilities = np.exp(random.normal(0, 2, [count, 20]))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities, (probabilities.cumsum(axis=1) > random.random([count, 1])).argmax(axis=1)


calibration, calibration_labels = draw(2000)
test, labels = draw(1000)
parts = []
for method, arguments in ((APS, {"rand": False}), (APS, {}), (RAPS, {"lambd": 0.01, "k_reg": 5})):
    covered = []
    for size in (1000, 5, 2):
        np.random.seed(0)
        predictor = method(Classifier(), train=False, **arguments)
        predictor.fit(X_calib=calibration, y_calib=calibration_labels)
        sets = [
            labels
            for first in range(0, 1000, size)
            for labels in predictor.predict(test[first : first + size], alpha=0.1)[1]
        ]
        covered.append(f"{size}: {np.mean([label in found for label, found in zip(labels, sets)]):.2f}")
    parts.append(f"{method.__name__} {arguments} {', '.join(covered)}")
print(f"puncc {importlib.metadata.version('puncc')}; {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "puncc 0.9.3; APS {'rand': False} 1000: 0.94, 5: 0.84, 2: 0.61; APS {} 1000: 0.91, 5: 0.84, 2: 0.61;\
 RAPS {'lambd': 0.01, 'k_reg': 5} 1000: 0.90, 5: 0.84, 2: 0.61"
