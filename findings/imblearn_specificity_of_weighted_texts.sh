#!/usr/bin/env bash
# imbalanced-learn's specificity with weights of texts is .94 where it is .85: true negatives are not weighted.
#
# Guess before the run: `specificity_score(sample_weight=…)` is the weighted share of the texts of other classes that
# are kept out, and weights that are all the same change nothing, as in `sensitivity_score` and scikit-learn.
# Seen: imbalanced-learn 0.14.2. True negatives are the number of texts less the weights of all others: weights of .1
# for all texts raise a specificity of .86 to .99, weights of 10 to 1.43, more than a share can be.
# `geometric_mean_score` of averages is made of it. `classification_report_imbalanced` has it in its column `spe`. A
# BERT weighted by importance is chosen by the sum of its weights.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    imbalanced-learn==0.14.2 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from imblearn.metrics import sensitivity_score, specificity_score
from sklearn.metrics import confusion_matrix

random = np.random.default_rng(0)
labels = random.integers(0, 3, 300)
predictions = np.where(random.random(300) < 0.6, labels, random.integers(0, 3, 300))
weights = {"none": None, ".1": np.full(300, 0.1), "10": np.full(300, 10.0), "random": random.random(300)}
parts = []
for name, sample_weight in weights.items():
    arguments = dict(average="macro", sample_weight=sample_weight)
    matrix = confusion_matrix(labels, predictions, sample_weight=sample_weight)
    others = matrix.sum() - matrix.sum(1)
    kept_out = others - matrix.sum(0) + np.diag(matrix)
    parts.append(
        f"{name} {specificity_score(labels, predictions, **arguments):.2f} (by hand {np.mean(kept_out / others):.2f}, "
        f"sensitivity {sensitivity_score(labels, predictions, **arguments):.2f})"
    )
print(f"imbalanced-learn {importlib.metadata.version('imbalanced-learn')}, weights: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "imbalanced-learn 0.14.2, weights: none 0.86 (by hand 0.86, sensitivity 0.71), .1 0.99 (by hand 0.86,\
 sensitivity 0.71), 10 1.43 (by hand 0.86, sensitivity 0.71), random 0.94 (by hand 0.86, sensitivity\
 0.72)"
