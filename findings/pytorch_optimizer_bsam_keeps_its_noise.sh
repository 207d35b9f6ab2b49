#!/usr/bin/env bash
# bSAM of pytorch_optimizer keeps its noise: what moves weights to look around is never taken back, and loss rises.
#
# Guess before the run: BSAM, "Bayesian sharpness-aware minimization", takes the gradient at weights that it has moved
# by noise and by rho, and then steps from the weights themselves, as SAM of the same package does. A classifier is
# learned, and at a rate of 0 nothing changes.
# Seen: pytorch_optimizer 4.1.0. The noise and the step upward are added to the weights and stay there. 200 steps take
# the loss of a linear classifier from .69 to 15, at the default `weight_decay` of .0001 as at 0, and at a rate of 0,
# too; SAM ends at .07. The gradient is multiplied by `weight_decay`, where the paper adds the decay times the weight:
# it is a second learning rate, and only with 1 does the loss fall. What is "weight decay" for a BERT, .01, leaves it at
# 13.5.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch_optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_optimizer import BSAM, SAM
from torch.nn.functional import cross_entropy

random = torch.Generator().manual_seed(0)
x = torch.randn(256, 8, generator=random)
labels = (x @ torch.randn(8, generator=random) > 0).long()


def train(optimizer, steps, **options):
    """The loss after some steps, each on all texts; the gradients that come first are those of the weights."""
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 2)
    optimizer = optimizer(model.parameters(), **options)

    def closure():
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        return loss

    for _ in range(steps):
        closure()
        optimizer.step(closure)
    return cross_entropy(model(x), labels).item()


parts = [f"at first {train(SAM, 0, base_optimizer=torch.optim.SGD, lr=0.5):.2f}"]
parts.append(f"SAM {train(SAM, 200, base_optimizer=torch.optim.SGD, lr=0.5):.2f}")
for decay in (0.0, 0.0001, 0.01, 1.0):
    loss = train(BSAM, 200, num_data=256, lr=0.5, weight_decay=decay)
    parts.append(f"bSAM with weight_decay={decay:g} {loss:.2f}")
quiet = train(BSAM, 200, num_data=10**9, lr=0.0, rho=0.05)
parts.append(f"with a rate of 0 {quiet:.2f}")
print(f"pytorch_optimizer {importlib.metadata.version('pytorch_optimizer')}, loss: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, loss: at first 0.69, SAM 0.07, bSAM with weight_decay=0 14.99, bSAM with\
 weight_decay=0.0001 14.98, bSAM with weight_decay=0.01 13.47, bSAM with weight_decay=1 0.07, with a rate of 0 15.13"
