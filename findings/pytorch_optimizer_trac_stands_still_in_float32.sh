#!/usr/bin/env bash
# TRAC of pytorch_optimizer moves no weight of usual size in float32: its first step, of 1e-8, is rounded away.
#
# Guess before the run: `TRAC(AdamW(...))` finds the size of its steps by itself, and lowers the loss in float32 as in
# float64.
# Seen: pytorch_optimizer 4.1.0. A regression of 16 weights that begin at 1, 300 steps. AdamW brings the loss from 31.1
# to 0.3, TRAC in float64 to 0.0, and in float32 it stays, and no weight has moved. The scale of the steps begins at
# 1e-8, as the paper has it, and grows with what the weights have moved: a weight of 1 plus 1e-11 is 1 in float32, so
# that nothing has moved and nothing grows. Weights of .02 stand still likewise.
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
from pytorch_optimizer import TRAC, AdamW

torch.manual_seed(0)
x = torch.randn(256, 16, dtype=torch.float64)
y = x @ (1 + torch.randn(16, dtype=torch.float64))


def train(wrap, dtype):
    weights = torch.nn.Parameter(torch.ones(16, dtype=dtype))
    optimizer = AdamW([weights], lr=0.01, weight_decay=0.0)
    optimizer = TRAC(optimizer) if wrap else optimizer
    losses = []
    for _ in range(301):
        loss = (x.to(dtype) @ weights - y.to(dtype)).pow(2).mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return f"{losses[0]:.1f} to {losses[300]:.1f}, moved {(weights - 1).abs().max():.1f}"


parts = [
    f"AdamW {train(False, torch.float32)}",
    f"TRAC in float64 {train(True, torch.float64)}",
    f"in float32 {train(True, torch.float32)}",
]
print(f"pytorch_optimizer {importlib.metadata.version('pytorch_optimizer')}: loss {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0: loss AdamW 31.1 to 0.3, moved 2.1; TRAC in float64 31.1 to 0.0, moved 2.4; in\
 float32 31.1 to 31.1, moved 0.0"
