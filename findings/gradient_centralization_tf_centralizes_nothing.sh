#!/usr/bin/env bash
# Optimizers of gradient-centralization-tf centralize nothing: they train as plain Adam or SGD do, bit for bit.
#
# Guess before the run: `gctf.optimizers.sgd` takes the mean off the gradient of each kernel, so that the means of its
# columns never change, as the paper of gradient centralization has it.
# Seen: gradient-centralization-tf 0.0.3 with TensorFlow 2.20.0 and Keras 3.15.1. The package gives an optimizer another
# `get_gradients`, a method that nothing calls any more: Keras takes its gradients from a tape. Nothing is said. After
# three epochs the weights are equal to those of the plain optimizer, and column means have moved by up to .10. With
# gradients that are centralized by hand they move by 0. A comparison of a BERT's training with and without it compares
# a run with itself.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    gradient-centralization-tf==0.0.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import gctf
import keras
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 8)).astype("float32")
y = (x @ rng.normal(size=(8, 4)) + 3).astype("float32")


class Centralized(tf.keras.optimizers.SGD):
    def apply(self, grads, trainable_variables=None):
        grads = [gradient - tf.reduce_mean(gradient, axis=0, keepdims=True) for gradient in grads]
        return super().apply(grads, trainable_variables)


def train(optimizer):
    """How far column means of the kernel move, and the kernel."""
    keras.utils.set_random_seed(0)
    model = tf.keras.Sequential([keras.Input((8,)), tf.keras.layers.Dense(4, use_bias=False)])
    before = model.get_weights()[0]
    model.compile(optimizer, "mse")
    model.fit(x, y, epochs=3, batch_size=16, shuffle=False, verbose=0)
    after = model.get_weights()[0]
    return np.abs(after.mean(0) - before.mean(0)).max(), after


parts = []
for name, ours, plain in (
    ("sgd", gctf.optimizers.sgd(0.05), tf.keras.optimizers.SGD(0.05)),
    ("adam", gctf.optimizers.adam(0.05), tf.keras.optimizers.Adam(0.05)),
):
    moved, weights = train(ours)
    parts.append(f"{name} moves means by {moved:.2f}, equal to plain {np.array_equal(weights, train(plain)[1])}")
parts.append(f"centralized by hand {train(Centralized(0.05))[0]:.2f}")
print(f"gradient-centralization-tf {importlib.metadata.version('gradient-centralization-tf')}: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "gradient-centralization-tf 0.0.3: sgd moves means by 0.09, equal to plain True; adam moves means by\
 0.10, equal to plain True; centralized by hand 0.00"
