#!/usr/bin/env bash
# With a floor of .1 pytorch_optimizer's WSD schedule falls to .005 and rises to .1 again when its decay is over.
#
# Guess before the run: `get_wsd_schedule(..., min_lr_ratio=0.1)` falls from 1 to .1 of the learning rate, and stays
# there, with each of its four curves.
# Seen: pytorch_optimizer 4.1.0. "cosine" ends at the floor. "1-sqrt", which is the default, "linear" and "1-square" go
# down to 0 without regard to it, and the step after the last one has the floor: with 100 steps of decay the rates at
# the end are .015, .010, .005 and then .100. A run that is a step longer than planned ends with a rate twenty times as
# high. With a floor of .5, 49 of 100 steps of "linear" are below it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_optimizer import get_wsd_schedule


def rates(curve, floor):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = get_wsd_schedule(optimizer, 10, 50, 100, min_lr_ratio=floor, cooldown_type=curve)
    values = []
    for _ in range(170):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return values


words = []
for curve in ("1-sqrt", "linear", "1-square", "cosine"):
    values = rates(curve, 0.1)
    words.append(f"{curve} {' '.join(f'{one:.3f}' for one in values[157:162])}")
below = sum(one < 0.4999 for one in rates("linear", 0.5)[60:])
version = importlib.metadata.version("pytorch-optimizer")
print(
    f"pytorch_optimizer {version}, last three of 160 steps and two more: {'; '.join(words)};",
    f"linear below .5 {below} times",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, last three of 160 steps and two more: 1-sqrt 0.015 0.010 0.005 0.100 0.100;\
 linear 0.030 0.020 0.010 0.100 0.100; 1-square 0.059 0.040 0.020 0.100 0.100; cosine 0.102 0.101 0.100 0.100 0.100;\
 linear below .5 49 times"
