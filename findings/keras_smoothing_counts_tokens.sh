#!/usr/bin/env bash
# Label smoothing of Keras depends on the number of tokens where the classes are on another axis than the last.
#
# Guess before the run: `categorical_crossentropy(axis=1, label_smoothing=0.3)` of [texts, classes, tokens] is that of
# [texts, tokens, classes] along the last axis, for any number of tokens.
# Seen: Keras 3.15.1 on NumPy, and alike on TensorFlow, JAX and PyTorch. Of three classes of equal probability a token
# costs log 3 = 1.10 along the last axis. Along axis 1 it costs 1.76 with one token, 1.10 with three, and .78 with
# a hundred: the smoothed part is divided by the size of the last axis, whatever `axis` says, so that labels add up to
# 1.60 and .71. `categorical_focal_crossentropy` does the same.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np


def loss(tokens, axis):
    labels = np.zeros((1, tokens, 3), "float32")
    labels[:, :, 0] = 1.0
    values = [labels, np.full_like(labels, 1.0 / 3.0)]
    if axis == 1:
        values = [np.swapaxes(value, 1, 2) for value in values]
    return np.mean(keras.losses.categorical_crossentropy(*values, axis=axis, label_smoothing=0.3))


print(f"keras {keras.__version__}:", end="")
for tokens in (1, 3, 100):
    print(f" {tokens} tokens: last axis {loss(tokens, -1):.2f}, axis 1 {loss(tokens, 1):.2f};", end="")
print()
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 1 tokens: last axis 1.10, axis 1 1.76; 3 tokens: last axis 1.10, axis 1 1.10; 100 tokens: last axis 1.10, axis 1 0.78;"
