#!/usr/bin/env bash
# A second call of crepes' `predict_percentiles_online` with an array asks for the .95th percentile, not the 95th.
#
# Guess before the run: two calls with the same arguments return the same percentiles.
# Seen: crepes 0.9.1. The percentiles that are given as a NumPy array are divided by 100 in place. The first call gives
# the 95th percentile, the second one the .95th, so a number far below the middle: the upper bound of a rating lies
# under the prediction, and hardly a label is below it. The third call asks for less again. A list of floats is
# copied and stays right; `predict_percentiles` leaves an array as it is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    crepes==0.9.1 scikit-learn==1.9.1 pandas==3.1.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from crepes import ConformalPredictiveSystem

random = np.random.default_rng(0)
system = ConformalPredictiveSystem().fit(random.normal(size=2000))
predictions = np.zeros(500)
labels = random.normal(size=500)


def covered(function, *arguments, upper):
    bounds = function(*arguments, higher_percentiles=upper)
    return f"{(labels <= bounds.ravel()).mean():.2f}"


online = [system.predict_percentiles_online, predictions, labels]
words = []
for kind in (list, np.array):
    upper = kind([95.0])
    words.append(f"{type(upper).__name__} {' '.join(covered(*online, upper=upper) for _ in range(3))}")
upper = np.array([95.0])
batch = [covered(system.predict_percentiles, predictions, upper=upper) for _ in range(3)]
print(
    f"crepes {importlib.metadata.version('crepes')}, labels below the 95th percentile in three calls:",
    f"{', '.join(words)}; not online {' '.join(batch)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "crepes 0.9.1, labels below the 95th percentile in three calls: list 0.94 0.94 0.94, ndarray 0.94 0.00\
 0.00; not online 0.94 0.94 0.94"
