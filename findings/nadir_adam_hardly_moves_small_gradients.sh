#!/usr/bin/env bash
# Adam of the package nadir moves weights with small gradients hardly at all: at .00001 a tenth of Adam's step.
#
# Guess before the run: Adam's step does not depend on how large gradients are, as long as they are far above eps, 1e-8:
# also weights with gradients of .00001, as of the words of a language model, move by the learning rate.
# Seen: nadir 0.1.1. Constant gradients of .001, .0001, .00001 and .000001 move a weight by .995, .707, .100 and .010 of
# the rate in a step, with PyTorch's Adam by 1.000, 1.000, .999 and .990: eps, which both are given as 1e-8, is added
# within the square root, so that it acts as .0001. Adamax of the package has it outside, and moves by what PyTorch's
# Adam does.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    nadir==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import nadir
import torch

gradients = torch.tensor([1e-3, 1e-4, 1e-5, 1e-6])


def moved(name, make):
    """How many times the learning rate each of four weights with constant gradients moves in a step, of ten."""
    weights = torch.nn.Parameter(torch.zeros(4))
    optimizer = make([weights])
    for _ in range(10):
        weights.grad = gradients.clone()
        optimizer.step()
    return f"{name} {' '.join(f'{-weight / 10 / 1e-3:.3f}' for weight in weights.tolist())}"


config = {"lr": 1e-3, "eps": 1e-8}
parts = [
    moved("Adam", lambda weights: nadir.Adam(weights, nadir.AdamConfig(**config))),
    moved("Adamax", lambda weights: nadir.Adamax(weights, nadir.AdamaxConfig(**config))),
    moved("PyTorch's Adam", lambda weights: torch.optim.Adam(weights, **config)),
]
print(f"nadir {importlib.metadata.version('nadir')}, of the rate: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nadir 0.1.1, of the rate: Adam 0.995 0.707 0.100 0.010; Adamax 1.000 1.000 0.999 0.990; PyTorch's Adam\
 1.000 1.000 0.999 0.990"
