#!/usr/bin/env bash
# The calibration error of two classes in pycalib is .24 for a sure and right classifier and .25 for one always wrong.
#
# Guess before the run: ECE(labels, probabilities), "ECE-full" by default, compares each class's probabilities with how
# often the class is right: 0 for calibrated ones, .01 for .99 and always right, .98 for always wrong.
# Seen: pycalib 0.1.0.dev6 with scikit-learn 1.9.1. The labels become one column for two classes, three for three, but
# the probabilities always have one column for each class: row by row they are compared with labels of other texts, and
# their second half with none. Calibrated probabilities have .13; right and wrong ones are alike. Of three classes it
# is right, and so is conf_ECE. (The module is loaded by its path.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pycalib==0.1.0.dev6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import numpy as np

path = importlib.metadata.distribution("pycalib").locate_file("pycalib/metrics.py")
spec = importlib.util.spec_from_file_location("metrics", path)
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)

random = np.random.default_rng(0)
spread = random.uniform(size=4000)
labels = (random.uniform(size=4000) < spread).astype(int)
sure = np.where(labels, 0.99, 0.01)
three = random.dirichlet([1, 1, 1], 4000)
cases = {
    "calibrated": (labels, np.stack([1 - spread, spread], axis=1)),
    "sure and right": (labels, np.stack([1 - sure, sure], axis=1)),
    "sure and always wrong": (labels, np.stack([sure, 1 - sure], axis=1)),
    "calibrated, three classes": ((random.uniform(size=(4000, 1)) > three.cumsum(axis=1)).sum(axis=1), three),
}
parts = []
for name, (truth, chances) in cases.items():
    flat, right = chances.ravel(), np.eye(chances.shape[1])[truth].ravel()
    bins = np.ceil(flat * 15)
    gaps = [abs(right[bins == number].sum() - flat[bins == number].sum()) for number in np.unique(bins)]
    parts.append(f"{name} {metrics.ECE(truth, chances):.2f} {sum(gaps) / len(flat):.2f}")
print(f"pycalib {importlib.metadata.version('pycalib')}, ECE and that of all probabilities: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pycalib 0.1.0.dev6, ECE and that of all probabilities: calibrated 0.13 0.01; sure and right 0.24 0.01;\
 sure and always wrong 0.25 0.99; calibrated, three classes 0.01 0.01"
