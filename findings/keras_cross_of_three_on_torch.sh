#!/usr/bin/env bash
# The cross products of three pairs of vectors are wrong in Keras on PyTorch, of two or four pairs they are right.
#
# Guess before the run: `keras.ops.cross` of [3, 3] takes each row for a vector, as of [4, 3], as NumPy does and as its
# argument axis=-1 says.
# Seen: keras 3.15.1 on PyTorch 2.13.0. The products go along the first axis of size 3, whatever axis=-1 says: columns
# where the batch has three rows, or each text three vectors. With two, four and five rows it is NumPy's. A last batch
# of three rows has other features than the same rows elsewhere.
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

generator = np.random.default_rng(0)
parts = []
for shape in ((2, 3), (3, 3), (4, 3), (5, 3), (5, 3, 3), (3, 5, 3)):
    one, other = generator.normal(size=(2, *shape)).astype("float32")
    found = keras.ops.convert_to_numpy(keras.ops.cross(one, other))
    parts.append(f"{list(shape)} {np.allclose(found, np.cross(one, other), atol=1e-5)}")
torch = importlib.metadata.version("torch").partition("+")[0]
print(f"keras {keras.__version__}, torch {torch}, as NumPy:", ", ".join(parts))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, torch 2.13.0, as NumPy: [2, 3] True, [3, 3] False, [4, 3] True, [5, 3] True, [5, 3, 3]\
 False, [3, 5, 3] False"
