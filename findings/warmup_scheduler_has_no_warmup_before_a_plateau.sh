#!/usr/bin/env bash
# GradualWarmupScheduler(multiplier=1) warms nothing up before ReduceLROnPlateau: all steps have the full rate.
#
# Guess before the run: `GradualWarmupScheduler(optimizer, multiplier=1, total_epoch=5)` raises the rate from 0 to that
# of the optimizer over 5 epochs, as its documentation says, and hands over to the scheduler behind it, whichever that
# is.
# Seen: warmup-scheduler 0.3. Before a cosine the rates of the first epochs are .0, .2, .4, .6, .8 and 1. Before
# ReduceLROnPlateau, which has a branch of its own, they are 1 from the beginning: the formula there is that of larger
# multipliers, which for 1 is the full rate in every epoch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    warmup-scheduler==0.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import torch
from warmup_scheduler import GradualWarmupScheduler

warnings.simplefilter("ignore")


def rates(kind, **options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    following = kind(optimizer, **options)
    scheduler = GradualWarmupScheduler(optimizer, multiplier=1, total_epoch=5, after_scheduler=following)
    values = []
    for _ in range(6):
        values.append(f"{optimizer.param_groups[0]['lr']:.1f}")
        optimizer.step()
        if kind is torch.optim.lr_scheduler.ReduceLROnPlateau:
            scheduler.step(metrics=1.0)
        else:
            scheduler.step()
    return " ".join(values)


cosine = rates(torch.optim.lr_scheduler.CosineAnnealingLR, T_max=100)
plateau = rates(torch.optim.lr_scheduler.ReduceLROnPlateau, patience=100)
print(f"warmup-scheduler {importlib.metadata.version('warmup-scheduler')}: cosine {cosine}; plateau {plateau}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "warmup-scheduler 0.3: cosine 0.0 0.2 0.4 0.6 0.8 1.0; plateau 1.0 1.0 1.0 1.0 1.0 1.0"
