#!/usr/bin/env bash
# A weighted average of losses in Keras on PyTorch is one number per text: it sums one axis and divides by another.
#
# Guess before the run: `keras.ops.average(x, axis, weights)` is NumPy's: the sum of x w along the axis by the sum of
# the weights along it, and over all elements without an axis, as its page says.
# Seen: keras 3.15.1 on PyTorch 2.13.0. The products are summed along the axis that is asked for, or all of them, and
# the weights always along the last one. So three texts have three averages instead of one, up to 11 where no loss is
# above 9, and the average along the first axis of a square table is another number, without a word. JAX and TensorFlow
# are right. A mean over the real tokens of a batch, with the mask as weights, is right along the last axis only.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import numpy as np

losses = np.array([[1, 2, 3], [2, 2, 1], [3, 1, 9]], "float32")
mask = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0]], "float32")


def row(values):
    return " ".join(f"{value:.2f}" for value in np.ravel(keras.ops.convert_to_numpy(values)))


parts = []
for axis in (None, 0, 1):
    found = keras.ops.average(losses, axis=axis, weights=mask)
    parts.append(f"axis {axis}: {row(found)} (NumPy {row(np.average(losses, axis=axis, weights=mask))})")
torch = importlib.metadata.version("torch").partition("+")[0]
print(f"keras {keras.__version__}, torch {torch}: {', '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=torch "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, torch 2.13.0: axis None: 5.50 3.67 11.00 (NumPy 1.83), axis 0: 3.00 1.33 1.00 (NumPy\
 2.00 2.00 1.00), axis 1: 1.50 1.67 3.00 (NumPy 1.50 1.67 3.00)"
