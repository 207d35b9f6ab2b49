#!/usr/bin/env bash
# Weight decay of torch-optimizer's SGDW takes the same number off every weight: zeros become -.1, and -1 becomes -1.1.
#
# Guess before the run: SGDW decays each weight toward 0 by lr times weight_decay times the weight, apart from the
# gradient, as its paper says and as AdamW does.
# Seen: torch-optimizer 0.3.0. It adds -lr times weight_decay to each weight, without the weight itself. In 100 steps
# with gradients of 0, lr=.1 and weight_decay=.01 weights of 1, 0 and -1 become 0.90, -0.10 and -1.10; torch's SGD with
# the same decay has 0.90, 0.00 and -0.90. Negative weights grow, the scale of a LayerNorm shrinks and its shift falls,
# and a kernel as BERT's are, with a deviation of .02, is 5.14 times as long after these steps, in place of 0.90.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-optimizer==0.3.0 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch_optimizer import SGDW


def after(optimizer, steps=100):
    """Weights of 1, 0 and -1, and the length of a kernel, after steps without a gradient."""
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.tensor([1.0, 0.0, -1.0])), torch.nn.Parameter(0.02 * torch.randn(64, 64))]
    before = weights[1].norm().item()
    made = optimizer(weights, lr=0.1, weight_decay=0.01)
    for _ in range(steps):
        for weight in weights:
            weight.grad = torch.zeros_like(weight)
        made.step()
    values = ", ".join(f"{value + 0.0:.2f}" for value in weights[0].tolist())
    return f"{values}, kernel {weights[1].norm().item() / before:.2f}"


print(
    f"torch-optimizer {importlib.metadata.version('torch-optimizer')}, 1, 0, -1 and a kernel's length after decay:",
    f"SGDW {after(SGDW)}; torch's SGD {after(torch.optim.SGD)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-optimizer 0.3.0, 1, 0, -1 and a kernel's length after decay: SGDW 0.90, -0.10, -1.10, kernel\
 5.14; torch's SGD 0.90, 0.00, -0.90, kernel 0.90"
