#!/usr/bin/env bash
# SRMM of pytorch_optimizer multiplies all weights of a BERT by .71 in its first step, at any learning rate.
#
# Guess before the run: `SRMM(lr=0.0001)` averages weights with those of earlier steps, so that weights that no
# gradient moves stay as they are.
# Seen: pytorch_optimizer 4.1.0. The average begins as 0, and the first weight of it is the root of a half, not 1, for
# the step is counted before it is used: weights without any gradient, as those of words that are in no batch, are .71
# instead of 1 after the first step, and stay there. With a learning rate of 1e-12 it is the same. A BERT that is
# fine-tuned by it begins as another model: all kernels, vectors and LayerNorms are .71 of what was loaded.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_optimizer import SRMM

words = []
for rate in (1e-4, 1e-12):
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = SRMM([weight], lr=rate)
    values = []
    for _ in range(20):
        weight.grad = torch.zeros(1)
        optimizer.step()
        values.append(weight.item())
    words.append(f"lr={rate:g} " + " ".join(f"{values[step - 1]:.2f}" for step in (1, 2, 5, 10, 20)))
version = importlib.metadata.version("pytorch-optimizer")
print(f"pytorch_optimizer {version}, a weight of 1 without gradients after 1, 2, 5, 10, 20 steps: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, a weight of 1 without gradients after 1, 2, 5, 10, 20 steps: lr=0.0001 0.71\
 0.71 0.71 0.71 0.71; lr=1e-12 0.71 0.71 0.71 0.71 0.71"
