#!/usr/bin/env bash
# Groups of units in mlxtend's permutation importance shuffle the first columns instead, and leave them shuffled.
#
# Guess before the run: `feature_importance_permutation(feature_groups=[[0, 1], [2, 3], [4, 5]])` shuffles the columns
# of a group, as the two units of a BERT's vector that decide, and finds how much worse a model gets; the data are
# afterwards what they were.
# Seen: mlxtend 0.25.0. Two units decide, 4 and 5: alone they have .33 each, as a group 0.00, where by hand it is .47.
# For a group of two columns the columns 0 and 1 are shuffled, whichever the group has. Then the columns of the group
# are put back, and 0 and 1 are not: of 2,000 texts 1,999 have other values in them for good, in the array that was
# given.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mlxtend.evaluate import feature_importance_permutation

random = np.random.default_rng(0)
x = random.normal(size=(2000, 6))
labels = (x[:, 4] + x[:, 5] > 0).astype(int)  # the last two units decide


def predict(x):
    return (x[:, 4] + x[:, 5] > 0).astype(int)


groups = [[0, 1], [2, 3], [4, 5]]
before = x.copy()
seen, _ = feature_importance_permutation(x, labels, predict, "accuracy", feature_groups=groups, seed=0)
changed = [int((x[:, column] != before[:, column]).sum()) for column in range(6)]
x = before.copy()
single, _ = feature_importance_permutation(x, labels, predict, "accuracy", seed=0)
by_hand = []
for group in groups:
    shuffled = before.copy()
    shuffled[:, group] = shuffled[random.permutation(2000)][:, group]
    by_hand.append(1 - np.mean(predict(shuffled) == labels))
words = [" ".join(f"{value:.2f}" for value in values) for values in (single, seen, by_hand)]
print(
    f"mlxtend {importlib.metadata.version('mlxtend')}, importance of six units {words[0]}; of groups 0-1, 2-3, 4-5"
    f" {words[1]}, by hand {words[2]}; values of the data that were changed {' '.join(map(str, changed))}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0, importance of six units 0.00 0.00 0.00 0.00 0.33 0.33; of groups 0-1, 2-3, 4-5 0.00\
 0.00 0.00, by hand 0.00 0.00 0.47; values of the data that were changed 1999 1999 0 0 0 0"
