#!/usr/bin/env bash
# Two classifiers that rank all texts alike, as one with and without a temperature, differ with a p of 0 in MLstatkit.
#
# Guess before the run: `Delong_test` of a BERT's probabilities and of the same after temperature scaling, whose AUC
# is the same number, has a p of 1: "two-sided p-value, aligned with R pROC".
# Seen: MLstatkit 0.1.91. z is 0 and p is 0.0, "surely different", for the model and itself, and for any temperature.
# The variance of the difference is 0, so that the test goes over to a bootstrap, whose differences are all 0: p is
# twice the smaller share of those that are at most 0 (all) and above 0 (none). With one pair of texts swapped p is
# .48, and the permutation test of the same package has 1.0 for equal models. Whoever looks for p < .05 publishes a
# difference of 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlstatkit==0.1.91 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from MLstatkit import Delong_test, Permutation_test

random = np.random.default_rng(0)
labels = (random.uniform(size=1000) < 0.3).astype(int)
logits = 2 * labels + random.normal(size=1000) - 1


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


swapped = logits.copy()
order = np.argsort(logits)
first = next(i for i in range(400, 999) if labels[order[i]] != labels[order[i + 1]])
swapped[order[[first, first + 1]]] = logits[order[[first + 1, first]]]
cases = {"itself": logits, "temperature 2": logits / 2, "temperature .5": 2 * logits, "one pair swapped": swapped}
parts = []
for name, other in cases.items():
    z, p, first, second = Delong_test(labels, sigmoid(logits), sigmoid(other), return_ci=False, random_state=0)
    parts.append(f"{name}: AUC {first:.3f} {second:.3f}, z {abs(z):.2f}, p {p:.2f}")
p = Permutation_test(labels, sigmoid(logits), sigmoid(logits), "roc_auc", n_bootstraps=200)[2]
print(f"mlstatkit {importlib.metadata.version('mlstatkit')}: {'; '.join(parts)}; permutations of itself: p {p:.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlstatkit 0.1.91: itself: AUC 0.925 0.925, z 0.00, p 0.00; temperature 2: AUC 0.925 0.925, z 0.00, p\
 0.00; temperature .5: AUC 0.925 0.925, z 0.00, p 0.00; one pair swapped: AUC 0.925 0.925, z 0.71, p 0.48;\
 permutations of itself: p 1.00"
