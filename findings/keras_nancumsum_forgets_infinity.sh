#!/usr/bin/env bash
# After an infinity `keras.ops.nancumsum` is finite on TensorFlow: it takes 3.4e38 for it, and other terms are lost.
#
# Guess before the run: as in NumPy only NaN counts as 0: from an infinity on the sums are infinite.
# Seen: keras 3.15.1. On TensorFlow 2.20.0 the sums of 1, infinity, 2 and of 1, infinity, -infinity, 2 are finite:
# infinities are replaced by the largest float, which swallows the numbers after it or cancels against its opposite.
# nansum of the same numbers is right, and on JAX 0.10.2 both are. A cumulative loss that has overflowed reads as a
# finite one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 tensorflow-cpu==2.20.0 numpy==2.4.6 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import os
import subprocess
import sys

PROGRAM = """
import keras
import numpy as np
from keras import ops

rows = ([1.0, np.nan, np.inf, 2.0], [1.0, np.inf, -np.inf, 2.0])
found = [ops.convert_to_numpy(ops.nancumsum(np.array(row, "float32"))).tolist() for row in rows]
sums = [float(ops.nansum(np.array(row, "float32"))) for row in rows]
print(*(" ".join(f"{value:.2g}" for value in row) for row in found), f"nansum {sums}", sep=", ")
"""

for backend in ("tensorflow", "jax"):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    print(backend, done.stdout.strip().splitlines()[-1], end="; ")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 1 1 3.4e+38 3.4e+38, 1 3.4e+38 0 2, nansum [inf, nan]; jax 1 1 inf inf, 1 inf nan nan, \
nansum [inf, nan]; "
