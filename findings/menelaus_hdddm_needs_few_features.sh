#!/usr/bin/env bash
# HDDDM of menelaus can't find a drift of 50 numbers on the first batch: its threshold is above the largest distance.
#
# Guess before the run: HDDDM(detect_batch=1), which "can detect drift on the first test batch", finds batches that are
# shifted by five standard deviations in all features, for one feature as for 50 of an embedding.
# Seen: menelaus 0.2.0. The first threshold is an average of differences of distances that is divided by the number of
# subsets, 5, not by that of pairs, 45, and its distances are sums over features, where the distance it is compared
# with is their mean: .25 for one feature, 2.54 for 50. A Hellinger distance is at most 1.41. Of shifts of one
# deviation 3 of 5 are found in one feature and 0 in 10; of five deviations 0 of 5 in 50.
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
import pandas as pd
from menelaus.data_drift import HDDDM

np.random.seed(0)
random = np.random.default_rng(0)
parts = []
for features in (1, 10, 50):
    for shift in (1, 5):
        found, thresholds, values = 0, [], []
        for _ in range(5):
            detector = HDDDM(detect_batch=1, subsets=5)
            detector.set_reference(pd.DataFrame(random.normal(size=(500, features))))
            detector.update(pd.DataFrame(random.normal(size=(500, features)) + shift))
            found += detector.drift_state == "drift"
            thresholds.append(detector.beta)
            values.append(detector.epsilon[-1])
        words = f"threshold {np.mean(thresholds):.2f}, difference {np.mean(values):.2f}"
        parts.append(f"{features} features, shift {shift}: {found} of 5, {words}")
print(f"menelaus {importlib.metadata.version('menelaus')}, drifts {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "menelaus 0.2.0, drifts 1 features, shift 1: 3 of 5, threshold 0.27, difference 0.33; 1 features, shift\
 5: 5 of 5, threshold 0.25, difference 1.20; 10 features, shift 1: 0 of 5, threshold 0.94, difference\
 0.33; 10 features, shift 5: 5 of 5, threshold 0.73, difference 1.22; 50 features, shift 1: 0 of 5,\
 threshold 2.75, difference 0.33; 50 features, shift 5: 0 of 5, threshold 2.54, difference 1.21"
