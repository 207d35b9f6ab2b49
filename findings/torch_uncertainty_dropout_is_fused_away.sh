#!/usr/bin/env bash
# Under no_grad all Monte Carlo samples of a transformer in torch-uncertainty are equal: its uncertainty is exactly 0.
#
# Guess before the run: `mc_dropout(model, 8)` in evaluation mode gives eight different outputs per text for a PyTorch
# TransformerEncoder with dropout, with gradients and without.
# Seen: torch-uncertainty 0.13.0, PyTorch 2.14.1. With gradients the samples spread by .13. Under `torch.no_grad()`, as
# one evaluates, they spread by exactly 0: dropout layers are set to train, but the encoder layer around them is not,
# and takes its fused path, which has no dropout. With the fused path switched off they spread by .16. So of two equal
# runs one says that the model is sure of everything.
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
from torch_uncertainty.methods import mc_dropout

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
encoder = torch.nn.TransformerEncoder(layer, 2)
model = torch.nn.Sequential(encoder, torch.nn.Flatten(), torch.nn.Linear(16 * 5, 3))
sampled = mc_dropout(model, 8).eval()
texts = torch.randn(4, 5, 16)


def spread():
    return f"{sampled(texts).detach().view(8, 4, 3).std(0).max().item():.2f}"


words = [f"with gradients {spread()}"]
with torch.no_grad():
    words.append(f"without {spread()}")
    torch.backends.mha.set_fastpath_enabled(False)
    words.append(f"without, unfused {spread()}")
print(f"torch-uncertainty {importlib.metadata.version('torch-uncertainty')}, largest deviation: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-uncertainty 0.13.0, largest deviation: with gradients 0.13, without 0.00, without, unfused 0.16"
