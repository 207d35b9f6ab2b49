#!/usr/bin/env bash
# aif360 finds a tenth of the bias in a group that is ten times as large: its Wasserstein distance falls with the texts.
#
# Guess before the run: `ot_distance(labels, probabilities, group)` is the Wasserstein distance between labels and
# predictions of each group, and so the same for two groups whose texts have the same labels and predictions, one of
# them ten times over.
# Seen: aif360 0.6.1 with POT 0.9.7. It takes the values for masses, which it divides by their sum, and the divided
# values for places, too: distances shrink as 1/n. Of 100 texts it is .0045, of the same texts ten times over .0005, and
# SciPy's distance .199 for both. A group that is rare seems to be treated worst. Predictions of a hundredth, .008 for
# .8, have the same distance, and a model that says .01 where the label is 1 and else 0 has one of 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pandas==3.1.1 matplotlib==3.11.2 aif360==0.6.1 pot==0.9.7.post1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
from aif360.sklearn.metrics import ot_distance
from scipy.stats import wasserstein_distance

random = np.random.default_rng(0)
labels = random.integers(0, 2, 100)
predictions = np.clip(np.where(labels, 0.8, 0.2) + random.normal(size=100) * 0.1, 0, 1)
small, large = (labels, predictions), (np.tile(labels, 10), np.tile(predictions, 10))
groups = pd.Series(np.repeat(["rare", "frequent"], [100, 1000]))
columns = [pd.Series(np.concatenate(pair)) for pair in zip(small, large)]
distances = ot_distance(*columns, prot_attr=groups)
parts = [
    f"rare {distances['rare']:.4f} ({wasserstein_distance(*small):.4f})",
    f"frequent {distances['frequent']:.4f} ({wasserstein_distance(*large):.4f})",
]
for name, values in (("a hundredth", predictions / 100), ("0 and .01", labels / 100)):
    distance = ot_distance(pd.Series(labels), pd.Series(values))
    parts.append(f"{name} {distance:.4f} ({wasserstein_distance(labels, values):.4f})")
print(f"aif360 {importlib.metadata.version('aif360')}, Wasserstein distance and SciPy's: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aif360 0.6.1, Wasserstein distance and SciPy's: rare 0.0045 (0.1993), frequent 0.0005 (0.1993), a\
 hundredth 0.0045 (0.5564), 0 and .01 0.0000 (0.5544)"
