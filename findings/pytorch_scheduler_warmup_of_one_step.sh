#!/usr/bin/env bash
# With a warmup of one step pytorch-scheduler's WarmupScheduler keeps the rate at 0 for good, and with two at half.
#
# Guess before the run: `WarmupScheduler(optimizer, StepLR(...), warmup_steps)`, a "composable warmup wrapper for any LR
# scheduler", leads from 0 to the full rate, and the schedule goes on from there.
# Seen: pytorch-scheduler 0.2.2 with torch 2.13.0. PyTorch's StepLR, ExponentialLR and LinearLR compute a rate from the
# one before, and the wrapper asks them to go on from the last rate of the warmup. So the full rate is never reached:
# with one step of warmup, whose rate is 0, all others are 0, and nothing is ever trained; with two it is half, with ten
# .9 of it in the whole training. CosineAnnealingLR and LambdaLR come out right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-scheduler==0.2.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import torch
from pytorch_scheduler import WarmupScheduler
from torch.optim import lr_scheduler

warnings.simplefilter("ignore")
schedules = {
    "StepLR": lambda optimizer: lr_scheduler.StepLR(optimizer, 50, 0.1),
    "ExponentialLR": lambda optimizer: lr_scheduler.ExponentialLR(optimizer, 0.999),
    "LinearLR": lambda optimizer: lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 90),
    "LambdaLR": lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 90),
    "CosineAnnealingLR": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 90),
}


def highest(schedule, steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = WarmupScheduler(optimizer, schedule(optimizer), steps)
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return max(rates)


parts = [f"{key} " + " ".join(f"{highest(make, steps):.2f}" for steps in (1, 2, 10)) for key, make in schedules.items()]
version = importlib.metadata.version("pytorch-scheduler")
print(f"pytorch-scheduler {version}, highest rate after 1, 2 and 10 steps of warmup: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-scheduler 0.2.2, highest rate after 1, 2 and 10 steps of warmup: StepLR 0.00 0.50 0.90,\
 ExponentialLR 0.00 0.50 0.90, LinearLR 0.00 0.50 0.90, LambdaLR 1.00 1.00 1.00, CosineAnnealingLR 1.00 1.00 1.00"
