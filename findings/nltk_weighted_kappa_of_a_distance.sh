#!/usr/bin/env bash
# Two annotators who agree have a weighted kappa of -.95 in NLTK once the greatest distance is named, and .88 before.
#
# Guess before the run: `weighted_kappa(max_distance=16)` scales squared distances of ratings from 1 to 5 to the range
# of 0 to 1, in what is seen and in what is expected, and changes nothing in the kappa.
# Seen: nltk 3.10.4. Two annotators of 200 texts differ by a step at most. By default the weighted kappa is .88, that of
# scikit-learn with quadratic weights; with `max_distance=16` it is -.95, for the expected disagreement is divided by
# 16, and the one that is seen is not. Distances that are scaled by the caller have .88. Who sets the argument as it is
# meant throws a good data set away.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nltk==3.10.4 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from nltk.metrics import interval_distance
from nltk.metrics.agreement import AnnotationTask
from sklearn.metrics import cohen_kappa_score

rng = np.random.default_rng(0)
first = rng.integers(1, 6, 200)
second = np.clip(first + rng.integers(-1, 2, 200), 1, 5)
data = [(name, item, int(value)) for name, column in (("a", first), ("b", second)) for item, value in enumerate(column)]
parts = []
for name, distance, scale in (
    ("squared", interval_distance, 16.0),
    ("squared, 0 to 1", lambda a, b: interval_distance(a, b) / 16, 1.0),
):
    task = AnnotationTask(data, distance)
    scaled = task.weighted_kappa(max_distance=scale)
    parts.append(f"{name}: by default {task.weighted_kappa():.2f}, max_distance={scale:g} {scaled:.2f}")
own = cohen_kappa_score(first, second, weights="quadratic")
print(f"nltk {importlib.metadata.version('nltk')}: {'; '.join(parts)}; of scikit-learn {own:.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nltk 3.10.4: squared: by default 0.88, max_distance=16 -0.95; squared, 0 to 1: by default 0.88,\
 max_distance=1 0.88; of scikit-learn 0.88"
