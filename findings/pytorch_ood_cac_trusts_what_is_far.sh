#!/usr/bin/env bash
# The outlier score of pytorch-ood's CACLoss takes outliers that are far out for the surest texts of known classes.
#
# Guess before the run: `CACLoss.score`, "outlier scores", is higher for points in no class than for points at their
# anchors, however far they are: the area under the ROC curve is about 1, as that of the distance to the nearest anchor.
# Seen: pytorch-ood 0.4.0. The score is minus the largest distance that is weighted by the rejection. With anchors at 10
# outliers in any direction at the radius 0 and 5 have an area of 1.00 and .99, at 10 of .08 and at 20 or 50 of 0.00:
# each of them counts as more of a known class than all known texts. The plain distance to the nearest anchor has 1.00
# for all. An encoder that gives unknown texts long vectors has its detector turned round.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-ood==0.4.0 scikit-learn==1.9.1 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_ood.loss import CACLoss
from sklearn.metrics import roc_auc_score

torch.manual_seed(0)
loss = CACLoss(n_classes=10, magnitude=10.0)
anchors = loss.centers.params.detach()
known = anchors[torch.randint(0, 10, (1000,))] + torch.randn(1000, 10)
truth = [0] * 1000 + [1] * 1000
words = []
for radius in (0, 5, 10, 20, 50):
    outliers = radius * torch.nn.functional.normalize(torch.randn(1000, 10)) + 0.1 * torch.randn(1000, 10)
    distances = loss.distance(torch.cat([known, outliers]))
    areas = [roc_auc_score(truth, score) for score in (CACLoss.score(distances), distances.min(1).values)]
    words.append(f"{radius}: {areas[0]:.2f} ({areas[1]:.2f})")
version = importlib.metadata.version("pytorch-ood")
print(f"pytorch-ood {version}, area (of the nearest anchor) for outliers at the radius {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-ood 0.4.0, area (of the nearest anchor) for outliers at the radius 0: 1.00 (1.00), 5: 0.99\
 (1.00), 10: 0.08 (1.00), 20: 0.00 (1.00), 50: 0.00 (1.00)"
