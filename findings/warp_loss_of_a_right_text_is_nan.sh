#!/usr/bin/env bash
# The WARP loss of the package warp-loss is NaN as soon as one text of a batch is right and all wrong labels are tried.
#
# Guess before the run: `warp_loss(positive, negative, num_labels, device)` with the scores of all n - 1 wrong labels is
# 0 for a text whose right label is ahead of all by the margin, and its gradient is 0.
# Seen: warp-loss 0.0.1. It multiplies the weight of such a text, the logarithm of (n - 1) / n rounded down, so minus
# infinity, by 0. The sum of the batch is NaN, and the gradient of that text with it, so that one step makes all weights
# NaN: training ends as soon as it begins to work. With one wrong label less it is right, .66 for the other text, and
# with 3 of 9, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    warp-loss==0.0.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import torch
from warp_loss.losses import warp_loss

warnings.simplefilter("ignore")
labels = 10
parts = []
for tried in (9, 8, 3):
    positive = torch.tensor([[0.9], [0.2]], requires_grad=True)
    negative = torch.full((2, tried), -0.5)
    negative[1, -1] = 0.6
    loss = warp_loss(positive, negative, labels, torch.device("cpu"))
    loss.backward()
    gradients = " and ".join(f"{abs(value):.2f}" for value in positive.grad[:, 0].tolist())
    parts.append(f"{tried} wrong labels tried: {loss.item():.2f}, gradients {gradients}")
print(f"warp-loss {importlib.metadata.version('warp-loss')}, a right and a wrong text, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "warp-loss 0.0.1, a right and a wrong text, 9 wrong labels tried: nan, gradients nan and 2.20; 8 wrong\
 labels tried: 0.66, gradients 0.00 and 2.20; 3 wrong labels tried: 0.66, gradients 0.00 and 2.20"
