#!/usr/bin/env bash
# Words with the label -100 count in the mean of pytorch-toolbelt's SoftCrossEntropyLoss: a masked LM's is .15 of it.
#
# Guess before the run: `ignore_index=-100`, the default, leaves words out of the loss and of its mean, as in PyTorch's
# `CrossEntropyLoss(label_smoothing=...)`, whose values it has where no word is left out.
# Seen: pytorch-toolbelt 0.8.0. Without ignored words both have 4.42 at a smoothing of .1. Where 15 of 100 words have a
# label it is 0.59 and PyTorch's 3.93: what is left out costs 0 and is counted. The gradient is as much smaller, so that
# a sum with another loss, as next sentences, has other weights, and a text counts less the more padding its batch has;
# the same batch with 100 words more of padding has half the loss. `reduction="sum"` is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-toolbelt==0.8.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_toolbelt.losses import SoftCrossEntropyLoss

torch.manual_seed(0)
logits, labels = torch.randn(100, 50), torch.randint(0, 50, (100,))
masked = torch.where(torch.arange(100) < 15, labels, -100)
longer = torch.cat([logits, torch.randn(100, 50)]), torch.cat([masked, torch.full((100,), -100)])
ours = SoftCrossEntropyLoss(smooth_factor=0.1)
theirs = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
cases = {"all words": (logits, labels), "15 of 100": (logits, masked), "15 of 200": longer}
words = [f"{name} {ours(*case):.2f} ({theirs(*case):.2f})" for name, case in cases.items()]
print(f"pytorch-toolbelt {importlib.metadata.version('pytorch-toolbelt')}, loss (PyTorch's): {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-toolbelt 0.8.0, loss (PyTorch's): all words 4.42 (4.42), 15 of 100 0.59 (3.93), 15 of 200 0.30\
 (3.93)"
