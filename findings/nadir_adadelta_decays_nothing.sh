#!/usr/bin/env bash
# Adadelta of the package nadir takes a weight decay and decays nothing: nothing is said.
#
# Guess before the run: `AdadeltaConfig(weight_decay=.1)` shrinks weights, as the decay does with the package's other
# optimizers, which take it from the same config.
# Seen: nadir 0.1.1. After ten steps at a rate and a decay of .1 with gradients of 0 a weight is at .90 with each of the
# eight others, and at 1.00 with Adadelta: it overrides `update`, where the others decay, and leaves the decay out.
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


def left(optimizer, config):
    """What is left of a weight of 1 without gradients after ten steps with a rate and a decay of .1."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = optimizer([weight], config(lr=0.1, weight_decay=0.1))
    for _ in range(10):
        weight.grad = torch.zeros(1)
        optimizer.step()
    return f"{weight.item():.2f}"


names = "SGD Momentum Adagrad RMSProp Adam Adamax Radam Lion Adadelta".split()
parts = [f"{name} {left(getattr(nadir, name), getattr(nadir, name + 'Config'))}" for name in names]
print(f"nadir {importlib.metadata.version('nadir')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nadir 0.1.1: SGD 0.90, Momentum 0.90, Adagrad 0.90, RMSProp 0.90, Adam 0.90, Adamax 0.90, Radam 0.90,\
 Lion 0.90, Adadelta 1.00"
