#!/usr/bin/env bash
# The Sinkhorn divergence of calibrax is 0 for sentence vectors that have nothing in common, as for equal ones.
#
# Guess before the run: `sinkhorn_divergence` of two sets of vectors grows with the distance of their means: with
# `regularization=0.1` it is near half or all of the squared distance.
# Seen: calibrax 0.1.1. It computes exp(-cost / .1), which is 0 in float32 once a squared distance is above 10, as it is
# between nearly all vectors of 32 or 768 units. Then no mass is moved, and the cost of what is moved is 0. In two
# dimensions it is .54 at a shift of 1, falls to .14 at 3 and is 0 at 10, in 32 and 768 it is always 0: a drift of
# embeddings is never found, and training by it has no gradient. `mmd` of the same package sees the shift in two
# dimensions, and with its bandwidth of 1 is 0 in 768, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 jaxtyping==0.3.11 click==8.5.1 psutil==7.2.2 numpy==2.4.6 \
    scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    calibrax==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from calibrax.metrics.functional import mmd, sinkhorn_divergence

random = np.random.default_rng(0)
parts = []
for units in (2, 32, 768):
    values = []
    for shift in (0, 1, 3, 10):
        sets = [random.normal(size=(64, units)).astype("float32") + move for move in (0, shift)]
        values.append(f"{float(sinkhorn_divergence(*sets)):.2f}")
    parts.append(f"{units} units {' '.join(values)}, MMD at the last {float(mmd(*sets)):.2f}")
print(f"calibrax {importlib.metadata.version('calibrax')}, shifts of 0, 1, 3 and 10: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calibrax 0.1.1, shifts of 0, 1, 3 and 10: 2 units 0.24 0.54 0.14 0.00, MMD at the last 0.90; 32 units\
 0.00 0.00 0.00 0.00, MMD at the last 0.00; 768 units 0.00 0.00 0.00 0.00, MMD at the last 0.00"
