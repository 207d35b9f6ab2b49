#!/usr/bin/env bash
# The symmetric loss of unified-focal-loss-pytorch is .70 for tags that are surely right: absent classes cost 1.
#
# Guess before the run: `SymmetricFocalTverskyLoss` compares predictions and labels of a batch by class, as
# `FocalTverskyLoss` of the same package and the loss of the paper do; it is nearly 0 if all is right.
# Seen: unified-focal-loss-pytorch 0.1.2. The index is computed for each tag and class alone and not for the sums: for
# a class that a tag doesn't have nothing can be right, and the loss is that of a complete miss, however small the
# probability. With three classes and all tags right by .9999 it is .697, with nine classes .898; the focal Tversky
# loss has .001. The symmetric unified loss, whose half it is, ends at .349.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 einops==0.8.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    unified-focal-loss-pytorch==0.1.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import unified_focal_loss


def values(classes, right):
    labels = torch.arange(10 * classes) % classes
    scores = torch.full((10 * classes, classes), (1 - right) / (classes - 1))
    scores[torch.arange(len(labels)), labels] = right
    names = ("SymmetricFocalTverskyLoss", "SymmetricUnifiedFocalLoss", "FocalTverskyLoss")
    numbers = " ".join(f"{getattr(unified_focal_loss, name)()(scores, labels).item():.3f}" for name in names)
    return f"{classes} classes, right by {right}: {numbers}"


words = [values(3, 0.5), values(3, 0.9999), values(9, 0.9999)]
version = importlib.metadata.version("unified-focal-loss-pytorch")
print(f"unified-focal-loss-pytorch {version}: symmetric Tversky, unified, Tversky by class: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "unified-focal-loss-pytorch 0.1.2: symmetric Tversky, unified, Tversky by class: 3 classes, right by\
 0.5: 0.934 0.584 0.595; 3 classes, right by 0.9999: 0.697 0.349 0.001; 9 classes, right by 0.9999: 0.898 0.449 0.001"
