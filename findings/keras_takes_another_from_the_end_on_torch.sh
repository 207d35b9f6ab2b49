#!/usr/bin/env bash
# Without an axis `keras.ops.take(x, [-1])` is not the last number on PyTorch: it counts back from the number of rows.
#
# Guess before the run: as in NumPy and on the other backends the array is flattened first, and -1 is its last number.
# Seen: keras 3.15.1 on PyTorch 2.13.0. Of 0 to 11 in three rows of four -1 gives 2 and -3 gives 0: the number of rows
# is added to a negative index. Of a vector, with an axis, and for indices from 0 on it is right.
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

x = np.arange(12, dtype="float32").reshape(3, 4)


def take(array, indices, **options):
    found = keras.ops.convert_to_numpy(keras.ops.take(array, indices, **options))
    right = np.take(array, indices, **options)
    return f"{found.astype(int).tolist()} for {right.astype(int).tolist()}"


torch = importlib.metadata.version("torch").partition("+")[0]
print(
    f"keras {keras.__version__}, torch {torch}: {take(x, [-1, -3])};",
    f"from 0 on {take(x, [11, 5])}, of a vector {take(x.ravel(), [-1])}, with an axis {take(x[:1], [-1], axis=1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, torch 2.13.0: [2, 0] for [11, 9]; from 0 on [11, 5] for [11, 5], of a vector [11] for \
[11], with an axis [[3]] for [[3]]"
