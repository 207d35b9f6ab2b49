#!/usr/bin/env bash
# Stochastic weight averaging in torch-uncertainty counts the first model twice: two models are 2 to 1, not 1 to 1.
#
# Guess before the run: the average of models whose weight is 1 in the first epoch and 0 afterwards is 1, 1/2, 1/3, 1/4,
# 1/5, as in PyTorch's own AveragedModel.
# Seen: torch-uncertainty 0.13.0. It is 1, 2/3, 1/2, 2/5, 1/3: the number of averaged models is set to 1 by the first
# and then raised to 2 in the same call. BERTs are fine-tuned for few epochs, so that the first, least trained model has
# half of the average of three.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-uncertainty==0.13.0 torch==2.14.1 torchvision==0.29.1 lightning[pytorch-extra]==2.6.6 timm==1.0.31 \
    numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch.optim.swa_utils import AveragedModel
from torch_uncertainty.methods import SWA

model = torch.nn.Linear(1, 1, bias=False)
average, reference = SWA(model, cycle_start=0, cycle_length=1), AveragedModel(model)
parts = [[], []]
for epoch in range(5):
    model.weight.data.fill_(float(epoch == 0))
    average.update_wrapper(epoch)
    reference.update_parameters(model)
    parts[0].append(f"{average.swa_model.weight.item():.2f}")
    parts[1].append(f"{reference.module.weight.item():.2f}")
version = importlib.metadata.version("torch-uncertainty")
print(f"torch-uncertainty {version}, share of the first model: {' '.join(parts[0])}; PyTorch {' '.join(parts[1])}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-uncertainty 0.13.0, share of the first model: 1.00 0.67 0.50 0.40 0.33; PyTorch 1.00 0.50 0.33\
 0.25 0.20"
