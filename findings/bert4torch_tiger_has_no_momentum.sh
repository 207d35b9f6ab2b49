#!/usr/bin/env bash
# Tiger of bert4torch has no momentum: the mean of its gradients stays 0, and a step is the sign of one gradient.
#
# Guess before the run: Tiger moves a weight by the sign of a running mean of gradients, so that after 20 gradients of 1
# one of -1 does not turn it round; its page says that it is the Tiger of Su Jianlin.
# Seen: bert4torch 0.6.2 with torch 2.13.0. The weight goes back with the first gradient of -1: the mean is read in
# every step and written in none. Lion, beside it in the same file, updates its own, and goes on. So a BERT is trained
# by the signs of the gradients of one batch each, whatever beta is. (The module is loaded by its path: the package's
# own import wants torchvision, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert4torch==0.6.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import torch


def load(name):
    """Returns a module of bert4torch without the others."""
    path = importlib.metadata.distribution("bert4torch").locate_file(f"bert4torch/{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


optimizers = load("optimizers")
parts = []
for method in (optimizers.Lion, optimizers.Tiger):
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = method([weight], lr=0.1, weight_decay=0.0)
    places = []
    for gradient in [1.0] * 20 + [-1.0]:
        weight.grad = torch.tensor([gradient])
        optimizer.step()
        places.append(weight.item())
    mean = optimizer.state[weight]["exp_avg"].item()
    parts.append(f"{method.__name__} {places[-2]:.1f}, {places[-1]:.1f}, mean {mean:.2f}")
print(f"bert4torch {importlib.metadata.version('bert4torch')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert4torch 0.6.2: Lion -2.0, -2.1, mean 0.17; Tiger -2.0, -1.9, mean 0.00"
