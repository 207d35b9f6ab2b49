#!/usr/bin/env bash
# After one NaN among its gradients a weight stands still for good in lion-pytorch: nothing is NaN, nothing learns.
#
# Guess before the run: one NaN among the gradients makes the weight NaN, as in Lion of optax, so that the training
# shows it; or it is forgotten after some steps.
# Seen: lion-pytorch 0.2.5 on PyTorch 2.13.0, optax 0.2.8. The momentum is NaN from then on, and PyTorch's sign of NaN
# is 0: the weight never moves again, though all later gradients are finite. Ten steps of .1 down from 1 end at 0, those
# with a NaN in the third at .8. With a weight decay it shrinks to 0 from there. The loss stays finite, so that no check
# for NaN sees it. optax ends with NaN, and Keras' Lion stands still on PyTorch, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lion-pytorch==0.2.5 torch==2.13.0 optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os

os.environ["KERAS_BACKEND"] = "torch"
import jax.numpy as jnp
import keras
import numpy as np
import optax
import torch
from lion_pytorch import Lion

clean = [1.0] * 10
broken = [1.0, 1.0, float("nan")] + [1.0] * 7


def pytorch(gradients):
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = Lion([weight], lr=0.1)
    for gradient in gradients:
        weight.grad = torch.tensor([gradient])
        optimizer.step()
    return weight.item()


def with_keras(gradients):
    weight = keras.Variable(np.ones(1, "float32"))
    optimizer = keras.optimizers.Lion(0.1)
    for gradient in gradients:
        optimizer.apply([torch.tensor([gradient])], [weight])
    return weight.numpy().item()


def jax(gradients):
    optimizer, weight = optax.lion(0.1, weight_decay=0.0), jnp.ones(())
    state = optimizer.init(weight)
    for gradient in gradients:
        updates, state = optimizer.update(jnp.float32(gradient), state, weight)
        weight = optax.apply_updates(weight, updates)
    return float(weight)


parts = []
for name, run in (("lion-pytorch", pytorch), ("Keras", with_keras), ("optax", jax)):
    parts.append(f"{name} {abs(run(clean)):.1f} and with a NaN {run(broken):.1f}")
print(f"lion-pytorch {importlib.metadata.version('lion-pytorch')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lion-pytorch 0.2.5: lion-pytorch 0.0 and with a NaN 0.8; Keras 0.0 and with a NaN 0.8; optax 0.0 and\
 with a NaN nan"
