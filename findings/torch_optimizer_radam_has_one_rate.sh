#!/usr/bin/env bash
# RAdam of torch-optimizer gives all groups the learning rate of the first one: a rate for each layer of a BERT is lost.
#
# Guess before the run: a group with its own `lr` is trained with that rate, as in torch's RAdam.
# Seen: torch-optimizer 0.3.0. The size of a step is kept for all groups that are at the same step, and the rate of the
# group that came first is a part of it. A body with .00001 and a head with .001: in 50 steps both move as far as with
# the first rate, 0.0001 if the body comes first and 0.0095 if the head does; torch's RAdam moves them by 0.0001 and
# 0.0095 in either order. With the head first the body of a pre-trained BERT is trained at 100 times the rate that it
# was given.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-optimizer==0.3.0 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch_optimizer import RAdam


def moves(optimizer, names):
    """How far the weights of body and head move in 50 steps, in the order of the groups."""
    torch.manual_seed(0)
    rates = {"body": 0.00001, "head": 0.001}
    weights = {name: torch.nn.Parameter(torch.zeros(100)) for name in names}
    made = optimizer([{"params": [weights[name]], "lr": rates[name]} for name in names])
    for _ in range(50):
        for weight in weights.values():
            weight.grad = torch.ones(100)
        made.step()
    return ", ".join(f"{name} {weight.abs().mean().item():.4f}" for name, weight in weights.items())


orders = (["body", "head"], ["head", "body"])
parts = []
for name, made in {"RAdam": RAdam, "torch's": torch.optim.RAdam}.items():
    parts.append(f"{name} {'; '.join(moves(made, order) for order in orders)}")
print(f"torch-optimizer {importlib.metadata.version('torch-optimizer')}, moves: {' | '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-optimizer 0.3.0, moves: RAdam body 0.0001, head 0.0001; head 0.0095, body 0.0095 | torch's body\
 0.0001, head 0.0095; head 0.0095, body 0.0001"
