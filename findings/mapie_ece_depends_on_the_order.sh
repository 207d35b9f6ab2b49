#!/usr/bin/env bash
# MAPIE's calibration error with "array split" is .114 or .004 for the same predictions: it depends on their order.
#
# Guess before the run: the three ways that `expected_calibration_error` has of making bins, "uniform", "quantile" and
# "array split", give about the same number for 2,000 texts, and `top_label_ece` is Gupta and Ramdas' (2021), a mean
# over texts of the gap between confidence and accuracy of their label.
# Seen: MAPIE 1.6.0. An over-confident classifier has .114 and .107 by the first two. "array split" cuts the scores as
# they come, unsorted, and takes the maximum of each piece for the end of a bin: all ends are near 1, most texts are in
# one bin, where what is too high and what is too low even out: .004. With sorted scores it is .114.
# `top_label_ece` is a mean over labels: 990 well calibrated texts of one label and 10 of another that are all wrong
# with .90 have .45, where the mean over texts is .01.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mapie==1.6.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mapie.metrics.calibration import expected_calibration_error, top_label_ece

random = np.random.default_rng(0)
chance = random.beta(0.6, 0.6, 2000)
right = (random.random(2000) < chance).astype(int)
scores = 1 / (1 + ((1 - chance) / chance) ** 2.5)
parts = []
for strategy in ("uniform", "quantile", "array split"):
    errors = [
        expected_calibration_error(right[order], scores[order], num_bins=10, split_strategy=strategy)
        for order in (np.arange(2000), scores.argsort())
    ]
    parts.append(f"{strategy} {errors[0]:.3f} sorted {errors[1]:.3f}")
labels = np.array([0] * 891 + [1] * 99 + [0] * 10)
shares = np.array([[0.9, 0.1]] * 990 + [[0.1, 0.9]] * 10)
print(f"MAPIE {importlib.metadata.version('mapie')}: {', '.join(parts)}; top label {top_label_ece(labels, shares):.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "MAPIE 1.6.0: uniform 0.114 sorted 0.114, quantile 0.107 sorted 0.107, array split 0.004 sorted 0.114;\
 top label 0.45"
