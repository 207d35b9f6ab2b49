#!/usr/bin/env bash
# Apollo of pytorch_optimizer moves layers whose rate is 0: its warmup of 500 steps knows one rate for all groups.
#
# Guess before the run: Groups of `ApolloDQN` with the rates .01, .001 and 0, as layers of a BERT that learn less or are
# frozen, move by 10 to 1 to 0, while the rate is warmed up as after it, and a schedule that ends the training ends it.
# Seen: pytorch_optimizer 4.1.0. In its warmup of 500 steps, the default, it computes the rate from the one that the
# optimizer was made with: all three groups move alike, the frozen one too, and a schedule that sets the rate to 0 at
# step 100 changes nothing. From step 500 on the groups have their own rates. AdamP of the same package keeps them apart
# from the first step on.
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
import warnings

import torch
from pytorch_optimizer import AdamP, ApolloDQN

warnings.simplefilter("ignore")


def moved(optimizer_class, steps, factor=1.0):
    """How far weights move whose groups have three learning rates, and a schedule that ends at step 100."""
    weights = [torch.nn.Parameter(torch.zeros(64)) for _ in range(3)]
    groups = [{"params": [weight], "lr": rate} for weight, rate in zip(weights, (0.01, 0.001, 0.0))]
    optimizer = optimizer_class(groups, lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 if step < 100 else factor)
    random = torch.Generator().manual_seed(0)
    before = [0.0] * 3
    for step in range(steps + 200):
        if step == steps:
            before = [weight.detach().clone() for weight in weights]
        for weight in weights:
            weight.grad = 0.001 * torch.randn(64, generator=random)
        optimizer.step()
        schedule.step()
    return " ".join(f"{float((weight - start).norm()):.3f}" for weight, start in zip(weights, before))


parts = []
for optimizer_class in (ApolloDQN, AdamP):
    values = moved(optimizer_class, 200), moved(optimizer_class, 200, 0.0), moved(optimizer_class, 600)
    name = optimizer_class.__name__
    parts.append(f"{name} after step 200 {values[0]}, with a schedule that ended {values[1]}, after 600 {values[2]}")
print(f"pytorch_optimizer {importlib.metadata.version('pytorch_optimizer')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0: ApolloDQN after step 200 0.069 0.065 0.074, with a schedule that ended 0.069\
 0.065 0.074, after 600 0.113 0.012 0.000; AdamP after step 200 1.120 0.110 0.000, with a schedule that ended 0.000\
 0.000 0.000, after 600 1.127 0.116 0.000"
