#!/usr/bin/env bash
# A LoRA that Keras has trained and saved learns nothing more after `load_weights`, and nothing is said.
#
# Guess before the run: a model whose `enable_lora` was called before `load_weights` is trained on from where
# the saved one stopped, as a model without LoRA is.
# Seen: Keras 3.15.1 on JAX 0.10.2. Five epochs bring the loss from 10.90 to 7.68, five more from 7.05 to 5.33.
# Saved after the first five and loaded into the same model made anew, the five more begin and end at 7.05.
# Saving adds the product of the two small matrices to the kernel, and loading sets both matrices to zero.
# (A LoRA that begins has zeros in one of them.) The gradient of each is a product with the other, so zero,
# and the kernel is frozen. `load_model` of a `.keras` file sets them likewise: only what is left of Adam's
# momentum moves them, and compiled anew they stand still. Dense, EinsumDense and Embedding do the same, and
# `BackupAndRestore` loads weights this way.
# This project saves the two matrices beside the kernel and trains them on (docs/fine_tuning.md).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import sys

import keras
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 8)).astype("float32")
y = x @ rng.normal(size=(8, 4)).astype("float32")


def new_model():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, use_bias=False)])
    model.layers[0].enable_lora(4)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def five_epochs(model):
    losses = model.fit(x, y, epochs=5, batch_size=64, shuffle=False, verbose=0).history["loss"]
    return f"{losses[0]:.2f} to {losses[-1]:.2f}"


model = new_model()
words = ["new", five_epochs(model)]
model.save_weights(sys.argv[1])
words += ["| trained on", five_epochs(model)]
model = new_model()
model.load_weights(sys.argv[1])
words += ["| loaded", five_epochs(model)]
print(f"keras {keras.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder/a.weights.h5" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: new 10.90 to 7.68 | trained on 7.05 to 5.33 | loaded 7.05 to 7.05"
