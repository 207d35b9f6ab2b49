#!/usr/bin/env bash
# LAMB's first step in pytorch_optimizer is ten times the learning rate, though it says "without bias correction".
#
# Guess before the run: LAMB moves a weight by the learning rate times the weight's norm, in every step, with bias
# correction or without, as the update is divided by its own norm: of gradients of one size, 0.001 of the norm.
# Seen: pytorch_optimizer 4.1.0, torch_optimizer 0.3.0, optax 0.2.8; a weight of norm 1 and random gradients. In steps
# 1, 2, 10 and 100 optax moves it by 1.000e-3, as said. pytorch_optimizer divides the learning rate by 1 - 0.9^t after
# the trust ratio: 10, 5.3 and 1.5 times as far at first, by default. torch_optimizer moves it by 1.000e-3 by default,
# and with debias=True by 0.32, 0.24, 0.15 and 0.31 of that: its correction is a warm-up of thousands of steps, for the
# same reason.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch_optimizer==4.1.0 torch-optimizer==0.3.0 optax==0.2.8 torch==2.13.0 numpy==2.4.6 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import numpy as np
import optax
import pytorch_optimizer
import torch
import torch_optimizer

generator = np.random.default_rng(0)
weight = generator.normal(size=(64, 64)).astype(np.float32)
weight /= np.linalg.norm(weight)
gradients = generator.normal(size=(100, 64, 64)).astype(np.float32)


def show(moves):
    return " ".join(f"{1000 * moves[step - 1]:.2f}" for step in (1, 2, 10, 100))


def by_torch(optimizer_class, **kwargs):
    parameter = torch.nn.Parameter(torch.tensor(weight))
    optimizer = optimizer_class([parameter], lr=0.001, eps=1e-6, **kwargs)
    moves = []
    for gradient in gradients:
        before = parameter.detach().clone()
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
        moves.append(float((parameter.detach() - before).norm() / before.norm()))
    return show(moves)


def by_optax():
    optimizer = optax.lamb(0.001)
    parameter = jnp.array(weight)
    state = optimizer.init(parameter)
    moves = []
    for gradient in gradients:
        update, state = optimizer.update(jnp.array(gradient), state, parameter)
        moves.append(float(jnp.linalg.norm(update) / jnp.linalg.norm(parameter)))
        parameter = parameter + update
    return show(moves)


version = importlib.metadata.version
print(
    f"optax {version('optax')}: {by_optax()};",
    f"pytorch_optimizer {version('pytorch_optimizer')}: {by_torch(pytorch_optimizer.Lamb)};",
    f"torch_optimizer {version('torch-optimizer')}: {by_torch(torch_optimizer.Lamb)},",
    f"debias {by_torch(torch_optimizer.Lamb, debias=True)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: 1.00 1.00 1.00 1.00; pytorch_optimizer 4.1.0: 10.00 5.26 1.54 1.00; torch_optimizer\
 0.3.0: 1.00 1.00 1.00 1.00, debias 0.32 0.24 0.15 0.31"
