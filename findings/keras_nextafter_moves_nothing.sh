#!/usr/bin/env bash
# `keras.ops.nextafter` returns the number itself on TensorFlow: it takes the next of 64 bits, and rounds it back to 32.
#
# Guess before the run: the float32 after 1 is 1 + 2**-23, as in NumPy and on the other backends.
# Seen: keras 3.15.1. On TensorFlow 2.20.0 it is 1.0, that after 0 is 0, and that below infinity is infinity: a
# threshold that is moved just past a score, so that the score itself is left out, does not move. On JAX 0.10.2 all
# three are NumPy's.
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

pairs = [(1.0, 2.0), (0.0, 1.0), (np.inf, 0.0)]
moved = [
    float(ops.convert_to_numpy(ops.nextafter(np.float32(one), np.float32(other)))) != one
    for one, other in pairs
]
print("moves 1, 0 and infinity:", *moved)
"""

for backend in ("tensorflow", "jax"):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    print(backend, done.stdout.strip().splitlines()[-1], end="; ")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow moves 1, 0 and infinity: False False False; jax moves 1, 0 and infinity: True True True; "
