#!/usr/bin/env bash
# The SWAG mask of laplace-torch takes frozen weights for the most uncertain ones at the learning rate of a BERT.
#
# Guess before the run: `LargestVarianceSWAGSubnetMask` chooses the weights that move most while SGD goes on; a frozen
# weight has the variance 0 and is never chosen.
# Seen: laplace-torch 0.3. A frozen LayerNorm of 64 units with scales of .6 to 1.4, and a classifier of 130 weights. Of
# the 64 weights that are chosen 26 are frozen scales with swag_lr=0.00001, 10 with 0.00002, and none with 0.001; in
# float64 it is none at all three. The variance is the mean of the squares less the square of the mean: of a weight of
# size 1 it is rounding, up to 0.0000007 in float32, more than what the moving weights have.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 tqdm==4.70.1 opt-einsum==3.4.0 torchmetrics==1.9.0 einops==0.8.2 \
    einconv==0.1.0 linear-operator==0.6.1 unfoldnd==0.2.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    laplace-torch==0.3 curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 asdfghjkl==0.1a4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from laplace.utils import LargestVarianceSWAGSubnetMask


def frozen_among_chosen(rate, dtype=torch.float32):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.LayerNorm(64), torch.nn.Linear(64, 2))
    torch.nn.init.uniform_(model[0].weight, 0.6, 1.4)
    torch.nn.init.normal_(model[1].weight, std=0.02)
    model[0].requires_grad_(False)
    x = torch.randn(256, 64)
    y = (x[:, 0] + 0.5 * torch.randn(256) > 0).long()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x.to(dtype), y), batch_size=32)
    mask = LargestVarianceSWAGSubnetMask(model.to(dtype), n_params_subnet=64, swag_lr=rate)
    return int((mask.select(data) < 128).sum())


rates = (1e-5, 2e-5, 1e-3)
single, double = ([frozen_among_chosen(rate, dtype) for rate in rates] for dtype in (torch.float32, torch.float64))
version = importlib.metadata.version("laplace-torch")
print(f"laplace-torch {version}: frozen of 64 chosen at the rates {rates}: float32 {single}, float64 {double}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "laplace-torch 0.3: frozen of 64 chosen at the rates (1e-05, 2e-05, 0.001): float32 [26, 10, 0], float6\
4 [0, 0, 0]"
