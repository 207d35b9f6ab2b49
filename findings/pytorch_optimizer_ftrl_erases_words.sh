#!/usr/bin/env bash
# FTRL of pytorch_optimizer sets the vectors of all words to zero that are not in the first batch of fine-tuning.
#
# Guess before the run: without penalties (`lambda_1` and `lambda_2` are 0) a weight with a gradient of 0 stays as it
# is, as with other optimizers, and FTRL's first step is one of the learning rate.
# Seen: pytorch_optimizer 4.1.0. An embedding of 1,000 words, of which the first batch has 100. After one step of FTRL
# those 100 have moved by at most .001, the learning rate, and the other 900 vectors are 0; with AdamW without weight
# decay none of the others has moved. FTRL computes a weight anew from its sum of gradients, which for these is 0: what
# a BERT has learned of rare words is gone before they are read, and so is a layer that is not used in the first step.
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
from pytorch_optimizer import FTRL, AdamW

parts = []
for optimizer in (FTRL, AdamW):
    torch.manual_seed(0)
    words = torch.nn.Embedding(1000, 64)
    before = words.weight.detach().clone()
    steps = optimizer(words.parameters(), lr=0.001, **({} if optimizer is FTRL else {"weight_decay": 0.0}))
    words(torch.arange(100)).pow(2).sum().backward()
    steps.step()
    moved = (words.weight.detach() - before).abs()
    zeros = int((words.weight == 0).all(1).sum())
    parts.append(f"{optimizer.__name__} read {moved[:100].max():.3f}, others {moved[100:].max():.3f}, zero {zeros}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, largest move of words and words that are zero: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, largest move of words and words that are zero: FTRL read 0.001, others 4.563,\
 zero 900; AdamW read 0.001, others 0.000, zero 0"
