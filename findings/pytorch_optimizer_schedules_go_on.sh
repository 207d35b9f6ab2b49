#!/usr/bin/env bash
# pytorch_optimizer's linear schedule is negative after its end, so that training climbs; its polynomial one only rises.
#
# Guess before the run: warm-up to "max_lr", then a decay to "min_lr" at "t_max", and min_lr from there on, as the
# schedules of BERT and of transformers have it, whatever the number of steps that are taken.
# Seen: pytorch_optimizer 4.1.0; warm-up of 100 steps, t_max 1,000, max_lr 1, min_lr 0. LinearScheduler: 0 at 1,000,
# -0.11 at 1,100; AdamW brings a loss to 0 in 1,000 steps of which 500 more make 1,917, without an error: PyTorch
# checks a rate only once. CosineScheduler rises again. PolyScheduler never falls: its rate, whose formula it does tell,
# is max_lr times the root of the steps since the warm-up: 30 at the end. The first two steps have the rate 0.
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

import pytorch_optimizer
import torch

STEPS = (0, 1, 2, 101, 550, 1000, 1100)


def rates(name):
    """Returns the learning rate of some updates, the first one being 0."""
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler_class = getattr(pytorch_optimizer.lr_scheduler, name)
    scheduler = scheduler_class(optimizer, t_max=1000, max_lr=1.0, min_lr=0.0, init_lr=0.0, warmup_steps=100)
    found = []
    for _ in range(STEPS[-1] + 1):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return " ".join(f"{found[step]:.2f}" for step in STEPS)


def losses():
    """Returns the loss (weight - 2)² after 1,000 and after 1,500 updates."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.AdamW([weight], lr=0.1, weight_decay=0)
    scheduler = pytorch_optimizer.lr_scheduler.LinearScheduler(
        optimizer, t_max=1000, max_lr=0.1, min_lr=0.0, init_lr=0.0, warmup_steps=100
    )
    found = []
    for _ in range(1500):
        optimizer.zero_grad()
        loss = (weight - 2 + 0.1 * torch.randn(1)).square().sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        found.append(float((weight - 2).square().sum().detach()))
    return f"{found[999]:.2f} then {found[1499]:.0f}"


torch.manual_seed(0)
names = ("LinearScheduler", "CosineScheduler", "PolyScheduler")
version = importlib.metadata.version("pytorch_optimizer")
print(f"{version}: {'; '.join(f'{name} {rates(name)}' for name in names)}; loss {losses()}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "4.1.0: LinearScheduler 0.00 0.00 0.01 1.00 0.50 0.00 -0.11; CosineScheduler 0.00 0.00 0.01 1.00 0.50\
 0.00 0.03; PolyScheduler 0.00 0.00 0.01 1.00 21.19 29.98 31.61; loss 0.00 then 1917"
