#!/usr/bin/env bash
# The warmup of custom-onecyclelr begins after a step at the full rate, and gives all groups of weights one rate.
#
# Guess before the run: the first of five steps of warmup has `warmup_start_lr`, 1e-5, and a group with a hundredth of
# the rate, as the layers of a BERT under a new head have, keeps its share, as in PyTorch's OneCycleLR.
# Seen: custom-onecyclelr 0.2.0. The first step has 1e-3, the optimizer's own rate, and the second 2.5e-5: at step 0 the
# scheduler returns what the groups have. The group of 1e-5 has that for one step, then the same rate as the other, up
# to 1e-3, a hundred times its own; one number is computed and set in all groups. PyTorch's OneCycleLR takes a list of
# `max_lr`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    custom-onecyclelr==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from custom_onecyclelr.scheduler import OneCycleLr

head, layers = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
optimizer = torch.optim.SGD([{"params": [head], "lr": 1e-3}, {"params": [layers], "lr": 1e-5}])
scheduler = OneCycleLr(
    optimizer,
    warmup_iters=5,
    lr_idling_iters=5,
    annealing_iters=5,
    decay_iters=5,
    max_lr=1e-3,
    annealing_lr_min=1e-4,
    decay_lr_min=1e-5,
    warmup_start_lr=1e-5,
)
rates = []
for _ in range(6):
    rates.append([group["lr"] for group in optimizer.param_groups])
    optimizer.step()
    scheduler.step()
shown = [" ".join(f"{rate[group]:.1e}" for rate in rates) for group in (0, 1)]
version = importlib.metadata.version("custom-onecyclelr")
print(f"custom-onecyclelr {version}, rates of six steps: head {shown[0]}; layers {shown[1]}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "custom-onecyclelr 0.2.0, rates of six steps: head 1.0e-03 2.5e-05 6.3e-05 1.6e-04 4.0e-04 1.0e-03; lay\
ers 1.0e-05 2.5e-05 6.3e-05 1.6e-04 4.0e-04 1.0e-03"
