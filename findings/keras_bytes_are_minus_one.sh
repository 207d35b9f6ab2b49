#!/usr/bin/env bash
# In Keras on JAX and PyTorch a label 255 in bytes is equal to -1, and 156 to -100: what is to be ignored is a class.
#
# Guess before the run: `keras.ops.equal(labels, -1)` of bytes, in which labels of up to 256 classes fit, is False
# everywhere, as in NumPy and on TensorFlow: there is no negative byte.
# Seen: keras 3.15.1 on JAX 0.10.2 and PyTorch 2.13.0. A Python number is cast to the type of the array, and wraps: -1
# is 255, -100 is 156, and 300 is 44. So `not_equal(labels, -100)` leaves the class 156 out, `less(labels, 300)` is
# False for most classes, and `greater_equal(labels, -1)` for all but 255. On TensorFlow all are NumPy's. What a mask or
# an accuracy is computed of depends on the backend.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 torch==2.13.0 jax==0.10.2 jaxlib==0.10.2 tensorflow==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import os
import subprocess
import sys

PROGRAM = """
import keras, numpy as np
labels = np.arange(256).astype("uint8")
parts = []
for name, number in (("equal", -1), ("equal", -100), ("less", 300), ("greater_equal", -1)):
    found = keras.ops.convert_to_numpy(getattr(keras.ops, name)(labels, number))
    parts.append(f"{name} {number} {found.sum()}")
print(keras.backend.backend(), ", ".join(parts))
"""
rows = []
for backend in ("tensorflow", "jax", "torch"):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "KERAS_BACKEND": backend}, capture_output=True, text=True
    )
    rows.append(done.stdout.strip().splitlines()[-1])
import importlib.metadata

print(f"keras {importlib.metadata.version('keras')}, of 256 bytes: {'; '.join(rows)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, of 256 bytes: tensorflow equal -1 0, equal -100 0, less 300 256, greater_equal -1 256;\
 jax equal -1 1, equal -100 1, less 300 44, greater_equal -1 1; torch equal -1 1, equal -100 1, less 300 44,\
 greater_equal -1 1"
