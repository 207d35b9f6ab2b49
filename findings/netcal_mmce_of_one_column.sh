#!/usr/bin/env bash
# netcal's MMCE of a binary classifier that is sure and always right is .48, and less if 4 of 10 are wrong.
#
# Guess before the run: MMCE of probabilities of the positive class ("1-D for binary classification") is that of the
# two columns of both classes: nearly 0 where these are calibrated, .01 for .99 and always right.
# Seen: netcal 1.4.0. With one column the label of .01 is taken to be negative, and its confidence to be .01, not .99:
# right negatives are the worst errors. So calibrated probabilities have .21 (two columns .01), sure and right ones .48
# (.01), and those that are wrong in 4 of 10 cases .33 (.40). ECE of the same package reads one column rightly. MMCE of
# a BERT with one logit chooses the worse model.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 scipy==1.17.1 tqdm==4.70.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    netcal==1.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from netcal.metrics.confidence import ECE, MMCE

random = np.random.default_rng(0)
spread = random.uniform(size=2000)
calibrated = (random.uniform(size=2000) < spread).astype(int)
labels = random.integers(0, 2, 2000)
cases = {
    "calibrated": (spread, calibrated),
    "sure and right": (np.where(labels, 0.99, 0.01), labels),
    "sure, 4 of 10 wrong": (np.where(labels ^ (random.uniform(size=2000) < 0.4), 0.99, 0.01), labels),
}
parts = []
for name, (probabilities, labels) in cases.items():
    both = np.stack([1 - probabilities, probabilities], axis=1)
    values = [MMCE().measure(array, labels) for array in (probabilities, both)]
    parts.append(f"{name} {values[0]:.2f} {values[1]:.2f}, ECE {ECE(10).measure(probabilities, labels):.2f}")
print(f"netcal {importlib.metadata.version('netcal')}, MMCE of one and of two columns: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "netcal 1.4.0, MMCE of one and of two columns: calibrated 0.21 0.01, ECE 0.03; sure and right 0.48\
 0.01, ECE 0.01; sure, 4 of 10 wrong 0.33 0.40, ECE 0.40"
