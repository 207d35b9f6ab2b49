#!/usr/bin/env bash
# A seed undoes the stratification of scikit-multilearn-ng: its split of texts of several labels is any random one.
#
# Guess before the run: `iterative_train_test_split(random_state=0)` is stratified as without the seed, and repeatable:
# of 20 rare labels that 8 of 2,000 texts have, two texts each are in a quarter that is kept for the test.
# Seen: scikit-multilearn-ng 0.0.8. With a seed, or shuffle=True, labels are shuffled, the strata made of the shuffled
# rows, and their numbers are taken for rows of the unshuffled data. A rare label has 0 to 5 texts in the test set,
# and some have none, as in a random draw; without a seed each has 2. IterativeStratification is the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    scikit-multilearn-ng==0.0.8
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from skmultilearn.model_selection import IterativeStratification, iterative_train_test_split

random = np.random.default_rng(0)
labels = np.zeros((2000, 20), int)
for label in range(20):
    labels[random.choice(2000, 8, replace=False), label] = 1
texts = np.arange(2000)[:, None]


def counts(test):
    found = labels[test].sum(axis=0)
    return f"{found.min()}-{found.max()}, {(found == 0).sum()} without"


parts = []
for arguments in ({}, {"random_state": 0}, {"shuffle": True, "random_state": 1}):
    np.random.seed(0)
    test = iterative_train_test_split(texts, labels, test_size=0.25, **arguments)[1][:, 0]
    fold = next(IterativeStratification(n_splits=4, order=1, **arguments).split(texts, labels))[1]
    parts.append(f"{arguments or 'no seed'} {counts(test)}; folds {counts(fold)}")
drawn = counts(np.random.default_rng(1).choice(2000, 500, replace=False))
print(f"scikit-multilearn-ng {importlib.metadata.version('scikit-multilearn-ng')}: {' | '.join(parts)} | drawn {drawn}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "scikit-multilearn-ng 0.0.8: no seed 2-2, 0 without; folds 2-2, 0 without | {'random_state': 0} 0-5, 2\
 without; folds 0-4, 4 without | {'shuffle': True, 'random_state': 1} 0-5, 3 without; folds 0-4, 3 without | drawn\
 0-4, 1 without"
