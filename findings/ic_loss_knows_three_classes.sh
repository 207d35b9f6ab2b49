#!/usr/bin/env bash
# The inverse contrastive loss of ic-loss knows three classes: texts of a fourth cost nothing and have no gradient.
#
# Guess before the run: `icl(vectors, labels)` pulls texts of different classes together and pushes texts of a class
# apart, for as many classes as the labels have: the loss of labels 0, 1, 2, 3 is not that without the texts of label 3.
# Seen: ic-loss 1.0.1. The loss of four classes is 730, and so it is without the texts of class 3, which have no
# gradient. Of classes 3 to 6 alone it is 0. Three is written into the function, and its page speaks of "c - extraneous
# attribute". The part for pairs of one class is multiplied by 2, for three classes, also if there are two. Whoever
# makes vectors of a BERT free of an attribute, as of five authors or languages, leaves those from the fourth on as they
# are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    ic-loss==1.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

# The loss for PyTorch stands beside one for TensorFlow, which is not used here.
sys.modules["tensorflow"] = types.ModuleType("tensorflow")
from ic_loss.losses import icl

torch.manual_seed(0)
vectors = torch.randn(40, 8)


def text(labels, rows=slice(None)):
    inputs = vectors[rows].clone().requires_grad_()
    loss = icl(inputs, labels[rows])
    loss.backward()
    still = (inputs.grad.abs().sum(1) == 0).float().mean()
    return f"{loss.item():.0f}, {still:.2f} of the texts without gradient"


labels = torch.arange(40) % 4
print(
    f"ic-loss {importlib.metadata.version('ic-loss')}: four classes {text(labels)};",
    f"without class 3 {text(labels, labels < 3)}; classes 3 to 6 {text(labels + 3)};",
    f"two classes {text(labels % 2)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ic-loss 1.0.1: four classes 730, 0.25 of the texts without gradient; without class 3 730, 0.00 of the\
 texts without gradient; classes 3 to 6 0, 1.00 of the texts without gradient; two classes 453, 0.00 of the texts\
 without gradient"
