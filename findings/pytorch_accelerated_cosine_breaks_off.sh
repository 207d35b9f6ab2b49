#!/usr/bin/env bash
# A cosine of pytorch-accelerated with a warmup breaks off at .41 of its rate, and is at the minimum from there on.
#
# Guess before the run: of 10 epochs with a warmup of 3 the rate rises for 3, and falls along a cosine for the other 7
# to its minimum at the end, as the documentation draws it: the epochs include those of the warmup.
# Seen: pytorch-accelerated 0.1.61. After 69 of 100 steps, with 30 of warmup, the rate is .41 of its maximum, and from
# the next step to the end 1e-6: the last 3 epochs train nothing. The end of the cosine takes the steps of the warmup
# off the total, and asks for the step since the beginning, in which they are contained; the cosine itself is as long as
# it should be. Without a warmup the rate is .21 and .20 there.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-accelerated==0.1.61 accelerate==1.15.0 torch==2.13.0 numpy==2.4.6 tqdm==4.70.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_accelerated.schedulers import CosineLrScheduler


def rates(warmup_epochs):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = CosineLrScheduler(
        optimizer, total_num_epochs=10, num_update_steps_per_epoch=10, num_warmup_epochs=warmup_epochs
    )
    values = []
    for _ in range(100):
        scheduler.step()
        values.append(optimizer.param_groups[0]["lr"])
    return ", ".join(f"{step}: {values[step]:.3f}" for step in (50, 69, 70, 85))


version = importlib.metadata.version('pytorch-accelerated')
print(f"pytorch-accelerated {version}: no warmup {rates(0)}; 3 of 10 epochs {rates(3)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-accelerated 0.1.61: no warmup 50: 0.500, 69: 0.219, 70: 0.206, 85: 0.054; 3 of 10 epochs 50: 0\
.812, 69: 0.411, 70: 0.000, 85: 0.000"
