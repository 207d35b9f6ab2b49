#!/usr/bin/env bash
# Among 100 texts `ohem_ratio=1` of pytorch-dice-loss keeps 98 negatives for one positive, and none for two.
#
# Guess before the run: `DiceLoss(ohem_ratio=1)` learns from all positives and as many negatives, the hardest ones.
# Seen: pytorch-dice-loss 0.1.1. 100 texts with one logit each. With 1, 2, 3, 5 and 10 positives 98, 0, 1, 3 and 8
# negatives have a gradient. The threshold is one place off, and it is itself left out; with one positive the place is
# the first of the sorted scores, the lowest, and all but that are kept. In batches of rare positives, which this is
# for, mining is switched off or leaves no negative at all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 einops==0.8.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-dice-loss==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_dice_loss import DiceLoss

words = []
for positives in (1, 2, 3, 5, 10):
    scores = torch.randn(100, 1, generator=torch.Generator().manual_seed(0)).requires_grad_()
    labels = (torch.arange(100) < positives).long()
    DiceLoss(ohem_ratio=1.0)(scores, labels).backward()
    words.append(f"{positives}: {int((scores.grad[positives:] != 0).sum())}")
version = importlib.metadata.version("pytorch-dice-loss")
print(f"pytorch-dice-loss {version}: positives and negatives with a gradient {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-dice-loss 0.1.1: positives and negatives with a gradient 1: 98, 2: 0, 3: 1, 5: 3, 10: 8"
