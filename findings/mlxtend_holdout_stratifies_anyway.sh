#!/usr/bin/env bash
# `stratify=False` of mlxtend's RandomHoldoutSplit stratifies all the same: each split has the same share of positives.
#
# Guess before the run: with `stratify=False`, the default, 50 of 200 texts are drawn at random, so that the number of
# positive ones, 5 in the mean, varies over 100 splits as with scikit-learn's ShuffleSplit, from 2 to 10.
# Seen: mlxtend 0.25.0. It is 5 in each of 100 splits, with False as with True: the two branches of the code are the
# same. How much a score varies with the split is then found too small.
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
from mlxtend.evaluate import RandomHoldoutSplit
from sklearn.model_selection import ShuffleSplit

labels = np.r_[np.ones(20, dtype=int), np.zeros(180, dtype=int)]
texts = np.zeros((200, 1))
parts = []
for name, new in (
    ("stratify=False", lambda seed: RandomHoldoutSplit(valid_size=0.25, random_seed=seed, stratify=False)),
    ("stratify=True", lambda seed: RandomHoldoutSplit(valid_size=0.25, random_seed=seed, stratify=True)),
    ("scikit-learn's ShuffleSplit", lambda seed: ShuffleSplit(1, test_size=0.25, random_state=seed)),
):
    counts = [int(labels[next(new(seed).split(texts, labels))[1]].sum()) for seed in range(100)]
    parts.append(f"{name} {min(counts)} to {max(counts)}")
version = importlib.metadata.version("mlxtend")
print(f"mlxtend {version}, positive texts among 50 of 200 in 100 splits: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0, positive texts among 50 of 200 in 100 splits: stratify=False 5 to 5, stratify=True 5\
 to 5, scikit-learn's ShuffleSplit 2 to 10"
