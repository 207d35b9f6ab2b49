#!/usr/bin/env bash
# `keras.ops.pad(x, 1)` pads the last axis alone on PyTorch, where it pads all axes on JAX and in NumPy.
#
# Guess before the run: one number, or one pair, stands for every axis, as the documentation says: (3, 4) becomes (5,
# 6).
# Seen: keras 3.15.1 on PyTorch 2.13.0. With a number or one pair (3, 4) becomes (3, 6) and (3, 7), without a word; with
# a pair for each axis all is right. A batch [2, 3, 4] that is padded in front of a convolution or for a frame of zeros
# keeps its rows, and everything after it has other shapes or, where a flexible layer follows, other values than on the
# backend that it was written for.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import os

os.environ["KERAS_BACKEND"] = "torch"
import importlib.metadata

import keras
import numpy as np

x = np.zeros((3, 4), "float32")
parts = []
for width in (1, (1, 2), ((1, 2),), ((1, 2), (1, 2))):
    found = tuple(keras.ops.pad(x, width).shape)
    parts.append(f"{width} {found} for {np.pad(x, width).shape}")
torch = importlib.metadata.version("torch").partition("+")[0]
print(f"keras {keras.__version__}, torch {torch}:", ", ".join(parts))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, torch 2.13.0: 1 (3, 6) for (5, 6), (1, 2) (3, 7) for (6, 7), ((1, 2),) (3, 7) for (6, \
7), ((1, 2), (1, 2)) (6, 7) for (6, 7)"
