#!/usr/bin/env bash
# In the SphereFace loss of torchium a vector opposite to its class costs nothing, and one at 45 degrees costs 65.
#
# Guess before the run: `SphereFaceLoss` is the A-Softmax loss: the further a vector is turned away from the weights of
# its class, the more it costs, and `margin` says by how much angles are multiplied.
# Seen: torchium 0.1.5. It takes cos(4 x) as it stands, where the paper continues it so that it falls all the way: it is
# 1 again at 90 and at 180 degrees. So a text whose vector is opposite to its class has a loss of 0.00, as one that
# points to it, and gradient descent turns a vector at 50 degrees away, to 70 and on towards 90. `margin` changes
# nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchium==0.1.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math

import torch
from torchium.losses import SphereFaceLoss

weights = torch.eye(8)[:4]
labels = torch.tensor([0])
parts = []
for degrees in (0, 22, 45, 68, 90, 135, 180):
    angle = math.radians(degrees)
    vector = math.cos(angle) * torch.eye(8)[:1] + math.sin(angle) * torch.eye(8)[7:]
    losses = [SphereFaceLoss(margin)(vector, labels, weights) for margin in (1, 4)]
    parts.append(f"{degrees}: {losses[0]:.2f} {losses[1]:.2f}")
angle = torch.tensor(math.radians(50), requires_grad=True)
optimizer = torch.optim.SGD([angle], lr=0.0005)
for _ in range(2000):
    optimizer.zero_grad()
    vector = torch.cos(angle) * torch.eye(8)[:1] + torch.sin(angle) * torch.eye(8)[7:]
    SphereFaceLoss()(vector, labels, weights).backward()
    optimizer.step()
print(
    f"torchium {importlib.metadata.version('torchium')}, loss at degrees, margins 1 and 4: {', '.join(parts)};"
    f" 50 degrees are trained to {math.degrees(float(angle)):.0f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5, loss at degrees, margins 1 and 4: 0: 0.00 0.00, 22: 0.28 0.28, 45: 65.10 65.10, 68:\
 0.28 0.28, 90: 0.00 0.00, 135: 65.10 65.10, 180: 0.00 0.00; 50 degrees are trained to 70"
