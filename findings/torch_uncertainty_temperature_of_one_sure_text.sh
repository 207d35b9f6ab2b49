#!/usr/bin/env bash
# One text of 200 with a logit of 17 makes the temperature NaN in torch-uncertainty, also if the text is right.
#
# Guess before the run: `TemperatureScaler` of a classifier with one logit finds the temperature that it finds for the
# same scores as two logits, also where one text is very sure.
# Seen: torch-uncertainty 0.13.0. With a logit of 10 or 16 both are alike. With 17 or 20 the temperature of one logit is
# NaN, and so is every later prediction: probabilities are kept 1e-8 away from 1, which is nothing in float32, so that
# the logarithm of 0 stands in the loss. With two logits, or in float64, it is .86.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch-uncertainty==0.13.0 scikit-learn==1.9.1 torch==2.14.1 torchvision==0.29.1 lightning[pytorch-extra]==2.6.6 \
    timm==1.0.31 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty.post_processing import TemperatureScaler

torch.manual_seed(0)
logits = 3 * torch.randn(200)
labels = (torch.rand(200) < logits.sigmoid()).long()
labels[0] = 1


def temperature(values):
    scaler = TemperatureScaler()
    scaler.fit(DataLoader(TensorDataset(values, labels), batch_size=50), progress=False)
    return f"{scaler.temperature[0].item():.2f}"


words = []
for largest in (10.0, 16.0, 17.0, 20.0):
    logits[0] = largest
    both = torch.stack([-logits / 2, logits / 2], 1)
    words.append(f"{largest:.0f}: {temperature(logits)} {temperature(both)} {temperature(logits.double())}")
version = importlib.metadata.version("torch-uncertainty")
print(f"torch-uncertainty {version}, temperature of one logit, two, one in float64, largest {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-uncertainty 0.13.0, temperature of one logit, two, one in float64, largest 10: 0.86 0.86 0.86;\
 16: 0.86 0.86 0.86; 17: nan 0.86 0.86; 20: nan 0.86 0.86"
