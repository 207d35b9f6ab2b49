#!/usr/bin/env bash
# AdaSmooth of pytorch_optimizer begins with steps of 50 learning rates, and a new word gets one whenever it comes.
#
# Guess before the run: at the default rate of .001 AdaSmooth moves weights by about .001 in a step, as AdamW does.
# Seen: pytorch_optimizer 4.1.0, in learning rates: AdamW 1.0, 0.6, 0.5 in the first steps, AdaSmooth 52.4, 2.0, 1.4.
# The first step is divided by a hundredth of the gradient: the mean of squares begins at 0 with a weight of .01² for
# the new one, and nothing corrects that. The vector of a word whose first gradient comes in the fourth step moves by
# 50.3 learning rates in it (AdamW .6). At .001 that is .05, and the weights of a BERT have a size of .02.
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

import torch
from pytorch_optimizer import load_optimizer

parts = []
for name in ("adamw", "adasmooth"):
    random = torch.Generator().manual_seed(0)
    weight = torch.nn.Parameter(0.02 * torch.randn(256, 256, generator=random))
    optimizer = load_optimizer(name)([weight], lr=0.001)
    moved = []
    for step in range(6):
        before = weight.detach().clone()
        gradient = 0.1 * torch.randn(256, 256, generator=random)
        if step < 3:
            gradient[0] = 0  # a word that comes in the fourth step
        weight.grad = gradient
        optimizer.step()
        change = (weight.detach() - before).abs().mean(1) / 0.001
        moved.append(f"{float(change[1:].mean()):.1f} ({float(change[0]):.1f})")
    parts.append(f"{name} {', '.join(moved)}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, steps in learning rates (and of a word that is new in step 4): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, steps in learning rates (and of a word that is new in step 4): adamw 1.0\
 (0.0), 0.6 (0.0), 0.5 (0.0), 0.4 (0.6), 0.4 (0.5), 0.3 (0.4); adasmooth 52.4 (0.0), 2.0 (0.0), 1.4 (0.0), 1.2 (50.3),\
 1.1 (2.0), 1.0 (1.4)"
