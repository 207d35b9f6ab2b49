#!/usr/bin/env bash
# Class weights of torch-uncertainty's CrossEntropyMaxSupLoss weigh no class: they multiply every loss by their mean.
#
# Guess before the run: `weight=[10, 1, 1]` gives texts of class 0 ten times the weight of others, as in the cross
# entropy that the class extends, and as it does itself with `max_sup=0`; reduction="none" is a loss per text.
# Seen: torch-uncertainty 0.13.0. With any `max_sup` above 0 the unweighted mean is multiplied by all three weights and
# averaged: 4.0 times the loss without weights, and the gradients of a text of class 0 and of class 2 are both 4.0 times
# those without weights, where 10 and 1 are right before they are divided by the sum. With reduction="none" all texts
# have the mean of the batch.
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
from torch_uncertainty.losses import CrossEntropyMaxSupLoss

torch.manual_seed(0)
values, labels = torch.randn(6, 3), torch.tensor([0, 0, 1, 1, 2, 2])
weights = torch.tensor([10.0, 1.0, 1.0])


def gradients(max_sup, weight):
    logits = values.clone().requires_grad_()
    loss = CrossEntropyMaxSupLoss(max_sup=max_sup, weight=weight)(logits, labels)
    loss.backward()
    return loss.item(), logits.grad.abs().sum(1)


words = []
for max_sup in (0.0, 1e-6):
    (weighted, with_weights), (plain, without) = gradients(max_sup, weights), gradients(max_sup, None)
    ratio = with_weights / without
    words.append(
        f"max_sup {max_sup:g}: loss {plain:.2f}, weighted {weighted:.2f},"
        f" gradients of class 0, 1, 2 by {ratio[0]:.2f} {ratio[2]:.2f} {ratio[4]:.2f}"
    )
alone = CrossEntropyMaxSupLoss(max_sup=1e-6, reduction="none")(values, labels).flatten()
words.append(f"none {' '.join(f'{value:.2f}' for value in alone.tolist())}")
print(f"torch-uncertainty {importlib.metadata.version('torch-uncertainty')}, {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-uncertainty 0.13.0, max_sup 0: loss 1.05, weighted 1.26, gradients of class 0, 1, 2 by 2.50 0.25\
 0.25; max_sup 1e-06: loss 1.05, weighted 4.20, gradients of class 0, 1, 2 by 4.00 4.00 4.00; none 1.05 1.05 1.05 1.05\
 1.05 1.05"
