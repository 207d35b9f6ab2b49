#!/usr/bin/env bash
# One step of Keras' Ftrl erases a pre-trained model: its weights are .0002 of what they were, and less at a lower rate.
#
# Guess before the run: `keras.optimizers.Ftrl` without penalties moves a weight by about its learning rate in a step,
# as other optimizers do, from where the weight is.
# Seen: Keras 3.15.1 on JAX 0.10.2. A kernel whose weights vary by .02, with gradients of size .001. After one step of
# SGD or Adam its weights have the size that they had, after one of Ftrl .00016 of it, and with a learning rate of
# .000001 instead of .001 a share of .000005. The optimizer computes each weight anew from its sum of gradients; the old
# weight counts by how far the gradient has raised the accumulator, which begins at .1. What a BERT has learned is gone
# at once.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np

rng = np.random.default_rng(0)
kernel = rng.normal(scale=0.02, size=(768, 768)).astype("float32")
gradient = rng.normal(scale=0.001, size=kernel.shape).astype("float32")


def step(optimizer):
    """Size of the weights after a step, as a share of that before it."""
    variable = keras.Variable(kernel)
    optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
    return f"{np.abs(np.asarray(variable.value)).mean() / np.abs(kernel).mean():.6f}"


optimizers = {
    "SGD": keras.optimizers.SGD(0.001),
    "Adam": keras.optimizers.Adam(0.001),
    "Ftrl": keras.optimizers.Ftrl(0.001),
    "Ftrl at 1e-6": keras.optimizers.Ftrl(1e-6),
}
parts = [f"{name} {step(optimizer)}" for name, optimizer in optimizers.items()]
print(f"keras {keras.__version__}: size of the weights after one step, 1 before it: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: size of the weights after one step, 1 before it: SGD 1.000000, Adam 1.001335, Ftrl 0.000\
158, Ftrl at 1e-6 0.000005"
