#!/usr/bin/env bash
# A shuffle of mlxtend with `random_seed=0` is another one each time: test texts become training texts.
#
# Guess before the run: `shuffle_arrays_unison([texts, labels], random_seed=0)` gives the same order whenever it is
# called, as with any other seed.
# Seen: mlxtend 0.25.0. Of the first 200 texts in the order, kept for a test, 152 are not among the first 200 the second
# time with seed 0; with seed 1 none. A seed is used if it is true, and 0 is not. 0 is a common seed: a BERT that is
# trained on in a second session learns its own test texts.
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
from mlxtend.preprocessing import shuffle_arrays_unison

texts = np.arange(1000)
parts = []
for seed in (0, 1):
    np.random.seed(7)
    orders = [shuffle_arrays_unison([texts], random_seed=seed)[0] for _ in range(2)]
    tests = [set(order[:200].tolist()) for order in orders]
    parts.append(f"random_seed={seed}: {len(tests[1] - tests[0])} of 200 test texts were training texts before")
print(f"mlxtend {importlib.metadata.version('mlxtend')}, a second shuffle with {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0, a second shuffle with random_seed=0: 152 of 200 test texts were training texts before;\
 random_seed=1: 0 of 200 test texts were training texts before"
