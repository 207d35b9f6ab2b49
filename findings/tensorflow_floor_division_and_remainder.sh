#!/usr/bin/env bash
# In TensorFlow 1 // .1 is 10 with a remainder of .1, which makes 1.1; in NumPy and PyTorch it is 9 and a remainder.
#
# Guess before the run: as the documentation of floormod says, floordiv(x, y) * y + floormod(x, y) is x, with signs and
# in floating point as in Python, so that buckets and positions in them fit together.
# Seen: tensorflow-cpu 2.20.0, Keras 3.15.1, PyTorch 2.13.0. floordiv rounds x / y down after the division, and floormod
# is exact: .1 is a little more than a tenth, so that nine of them fit in 1 and .0999... is left, and 1 / .1 rounded is
# 10. In steps of .1 from .1 to 1 three of ten sums in float64 are .1 too large; `tf.experimental.numpy` and `keras.ops`
# on TensorFlow do the same, and Keras on PyTorch does not. An example whose bucket is 10 has its place at the end of
# bucket 9.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import subprocess
import sys

code = """
import sys
import numpy as np
from keras import ops
values = [np.float64(one) for one in sys.argv[1:]]
print([float(ops.convert_to_numpy(ops.floor_divide(ops.convert_to_tensor(one, "float64"), 0.1))) for one in values])
"""


def divide(backend, *values):
    """Divides in Keras on a backend."""
    command = [sys.executable, "-c", code, *map(str, values)]
    run = subprocess.run(command, env={**os.environ, "KERAS_BACKEND": backend}, capture_output=True, text=True)
    return run.stdout.split(chr(10))[-2]


import numpy as np
import tensorflow as tf
import torch

x = np.arange(1, 11) / 10
quotients = tf.math.floordiv(x, 0.1).numpy()
remainders = tf.math.floormod(tf.constant(x), tf.constant(0.1, "float64")).numpy()
wrong = ~np.isclose(quotients * 0.1 + remainders, x)
same = np.array_equal(torch.floor_divide(torch.tensor(x), 0.1).numpy(), x // 0.1)
version = importlib.metadata.version("tensorflow-cpu")
print(
    f"tensorflow-cpu {version}: 1 and .1: quotient {quotients[-1]:.0f}, remainder {remainders[-1]:.2f}, together",
    f"{quotients[-1] * 0.1 + remainders[-1]:.2f}; wrong for {x[wrong].tolist()}; NumPy",
    f"{1 // 0.1:.0f}, PyTorch the same: {same};",
    f"Keras on tensorflow and torch, .5 and 1: {divide('tensorflow', 0.5, 1)}, {divide('torch', 0.5, 1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-cpu 2.20.0: 1 and .1: quotient 10, remainder 0.10, together 1.10; wrong for [0.5, 0.9, 1.0]\
; NumPy 9, PyTorch the same: True; Keras on tensorflow and torch, .5 and 1: [5.0, 10.0], [4.0, 9.0]"
