#!/usr/bin/env bash
# OneCycle of DeepSpeed "decays" Adam's momentum from .9 to 1.8, and changes its second beta from .999 to .99 unasked.
#
# Guess before the run: after the cycle the momentum decays with `decay_mom_rate` as the learning rate does with
# `decay_lr_rate`; the momentum that is cycled is the first beta, and the second is the one of the optimizer.
# Seen: deepspeed 0.19.8, PyTorch 2.13.0. The learning rate is divided by 1 + rate * steps, and the momentum is
# multiplied by it: from .9 it is 1.08 after two steps at a rate of .1, 1.8 after ten and 4.5 after forty. A mean of
# gradients with such a momentum grows with each step; with a learning rate that stays the weights are NaN.
# `cycle_momentum=True`, the default, sets the second beta to .99 in all steps, whatever AdamW was made with, so that
# the mean of squares is over 100 steps and not 1,000.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    deepspeed==0.19.8 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import numpy as np
import torch

logging.disable(logging.CRITICAL)
from deepspeed.runtime.lr_schedules import OneCycle

words = []
for rate in (0.0, 0.1):
    torch.manual_seed(0)
    features = torch.randn(256, 4)
    labels = features @ torch.ones(4, 1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.999))
    schedule = OneCycle(
        optimizer, 0.001, 0.1, cycle_first_step_size=10, decay_step_size=1, decay_mom_rate=rate
    )
    momentums, losses = [], []
    for step in range(200):
        loss = torch.nn.functional.mse_loss(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        momentums.append(optimizer.param_groups[0]["betas"][0])
        losses.append(loss.item())
    ends = "not finite" if not np.isfinite(losses[-1]) else "lower" if losses[-1] < losses[0] else "higher"
    shown = ", ".join(f"{momentums[i - 1]:.2f}" for i in (10, 20, 30, 60))
    beta = optimizer.param_groups[0]["betas"][1]
    words.append(f"decay_mom_rate={rate} momentum at 10, 20, 30, 60: {shown}, loss {ends}, second beta {beta}")
print(f"deepspeed {importlib.metadata.version('deepspeed')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepspeed 0.19.8: decay_mom_rate=0.0 momentum at 10, 20, 30, 60: 0.80, 0.90, 0.90, 0.90, loss lower, s\
econd beta 0.99; decay_mom_rate=0.1 momentum at 10, 20, 30, 60: 0.80, 0.90, 1.80, 4.50, loss not finite, second beta 0\
.99"
