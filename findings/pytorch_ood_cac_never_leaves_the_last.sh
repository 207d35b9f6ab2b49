#!/usr/bin/env bash
# CACLoss of pytorch-ood never keeps a text away from the last class, and counts its own class as a wrong one instead.
#
# Guess before the run: the tuplet loss of class anchor clustering compares the distance to the own anchor with those to
# all other anchors: a text of class 0 that lies on another anchor costs the same, whichever it is, and one on its own
# nothing.
# Seen: pytorch-ood 0.4.0. The wrong classes of every text are the first ones, without the last: the exception for texts
# of the last class asks for the label 4 of 0 to 3, which none has. A text of class 0 on the anchor of 1 or 2 costs
# 50.00, on that of 3 it costs 1.39, and on its own .69, log 2, for its own class is among the wrong ones. So nothing
# keeps texts of the other classes out of the last one. Texts of the last class are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-ood==0.4.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_ood.loss import CACLoss

loss = CACLoss(n_classes=4, magnitude=5.0, alpha=0.0)
anchors = loss.centers.params.detach()


def by_definition(distances, label):
    wrong = [place for place in range(4) if place != label]
    return torch.log1p((distances[0, label] - distances[0, wrong]).exp().sum()).item()


words = []
for label in (0, 3):
    parts = []
    for place in range(4):
        distances = loss.distance(anchors[place][None])
        parts.append(f"{loss(distances, torch.tensor([label])).item():.2f} ({by_definition(distances, label):.2f})")
    words.append(f"class {label} on anchor 0 to 3: {' '.join(parts)}")
version = importlib.metadata.version("pytorch-ood")
print(f"pytorch-ood {version}, tuplet loss (by definition) of a text of {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-ood 0.4.0, tuplet loss (by definition) of a text of class 0 on anchor 0 to 3: 0.69 (0.00)\
 50.00 (50.00) 50.00 (50.00) 1.39 (50.00); class 3 on anchor 0 to 3: 50.00 (50.00) 50.00 (50.00) 50.00 (50.00) 0.00\
 (0.00)"
