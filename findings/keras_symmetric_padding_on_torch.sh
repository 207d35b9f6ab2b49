#!/usr/bin/env bash
# `keras.ops.pad(mode="symmetric")` repeats the first and the last word on PyTorch, where it mirrors a text elsewhere.
#
# Guess before the run: symmetric padding of 1 2 3 4 5 by three is 3 2 1 1 2 3 4 5 5 4 3, as in NumPy and on the other
# backends of Keras.
# Seen: keras 3.15.1 on PyTorch 2.13.0. It is 1 1 1 1 2 3 4 5 5 5 5, PyTorch's "replicate", without a word; one place is
# the same in both, and "reflect" is right. On TensorFlow and JAX it is NumPy's. A convolution over the padded vectors
# of a BERT that was trained on one backend has other outputs at both ends of a text on the other.
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

rows = np.arange(1, 6, dtype="float32").reshape(1, 5)
parts = []
for mode in ("symmetric", "reflect"):
    for width in (1, 3):
        padded = keras.ops.convert_to_numpy(keras.ops.pad(rows, ((0, 0), (width, width)), mode=mode))
        own = np.pad(rows, ((0, 0), (width, width)), mode=mode)
        text = " ".join(f"{value:.0f}" for value in padded[0])
        right = " ".join(f"{value:.0f}" for value in own[0])
        parts.append(f"{mode} {text}" + ("" if text == right else f" for {right}"))
print(f"keras {importlib.metadata.version('keras')} on {keras.backend.backend()}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=torch "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on torch: symmetric 1 1 2 3 4 5 5; symmetric 1 1 1 1 2 3 4 5 5 5 5 for 3 2 1 1 2 3 4 5 5\
 4 3; reflect 2 1 2 3 4 5 4; reflect 4 3 2 1 2 3 4 5 4 3 2"
