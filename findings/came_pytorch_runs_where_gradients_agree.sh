#!/usr/bin/env bash
# CAME of came-pytorch takes steps of 40 learning rates where gradients agree, and its first step is 11 of them.
#
# Guess before the run: CAME, an optimizer that is guided by confidence, takes steps of at most about
# one learning rate, as Adam does, and smaller ones where gradients disagree.
# Seen: came-pytorch 0.1.3, steps in learning rates, first, about the 10th and about the 200th, and AdamW's: gradients
# that are nearly all noise 11.1, 7.7, 1.9 (1.0, 0.3, 0.2); half noise 11.1, 19.3, 7.8 (1.0, 0.6, 0.6); a tenth noise
# 11.1, 33.4, 41.0 (1.0, 0.9, 0.9). A step is divided by the root of a mean of squared changes that begins at 0 with a
# weight of .0001 for the new one and is not corrected, and the changes themselves are small where gradients agree. With
# the rate of a BERT's AdamW, and no warmup, a first step of 11 rates is taken.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    came-pytorch==0.1.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from came_pytorch import CAME


def steps(optimizer, noise):
    """The size of a step in learning rates: the first one, and those around the 10th and the 200th."""
    random = torch.Generator().manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(64, 64))
    direction = torch.randn(64, 64, generator=random)
    optimizer = optimizer([weight], lr=1e-4)
    sizes = []
    for _ in range(200):
        before = weight.detach().clone()
        weight.grad = direction + noise * torch.randn(64, 64, generator=random)
        optimizer.step()
        sizes.append(float((weight.detach() - before).square().mean().sqrt()) / 1e-4)
    return f"{sizes[0]:.1f} {sum(sizes[5:15]) / 10:.1f} {sum(sizes[190:]) / 10:.1f}"


parts = []
for noise in (10.0, 1.0, 0.1, 0.0):
    parts.append(f"noise {noise:g}: {steps(CAME, noise)} ({steps(torch.optim.AdamW, noise)})")
print(f"came-pytorch {importlib.metadata.version('came-pytorch')} (AdamW), steps in rates: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "came-pytorch 0.1.3 (AdamW), steps in rates: noise 10: 11.1 7.7 1.9 (1.0 0.3 0.2); noise 1: 11.1 19.3\
 7.8 (1.0 0.6 0.6); noise 0.1: 11.1 33.4 41.0 (1.0 0.9 0.9); noise 0: 11.1 33.8 48.9 (1.0 1.0 1.0)"
