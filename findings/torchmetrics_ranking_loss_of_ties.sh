#!/usr/bin/env bash
# A classifier that scores all labels alike has a ranking loss of 0 or 1 in TorchMetrics: it is the labels' order.
#
# Guess before the run: `MultilabelRankingLoss` counts a pair of labels with equal scores as wrong, as scikit-learn
# does, or by half; the order of the labels is without effect.
# Seen: TorchMetrics 1.9.0. Ranks are those of a sort, so that equal scores are in any order, here that of the labels:
# a constant classifier has 0.00 if the right labels are the last two of six, 1.00 if they are the first two, and .49
# for random labels; scikit-learn has 1.00, 1.00 and .98. A model whose scores are in steps of .25 has .50, and .63
# there. Coverage error and ranking average precision of TorchMetrics treat equal scores as scikit-learn does.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchmetrics==1.9.0 torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from sklearn.metrics import label_ranking_loss
from torchmetrics.functional.classification import multilabel_ranking_loss

generator = torch.Generator().manual_seed(0)
last, first = torch.zeros(200, 6, dtype=torch.long), torch.zeros(200, 6, dtype=torch.long)
last[:, 4:] = 1
first[:, :2] = 1
labels = torch.randint(0, 2, (200, 6), generator=generator)
coarse = torch.randint(0, 4, (200, 6), generator=generator) / 4
constant = torch.full((200, 6), 0.5)
cases = {
    "constant, last right": (constant, last),
    "first right": (constant, first),
    "random": (constant, labels),
    "steps of .25": (coarse, labels),
    "reversed": (coarse.flip(1), labels.flip(1)),
}
words = []
for name, (scores, right) in cases.items():
    seen = multilabel_ranking_loss(scores, right, 6)
    words.append(f"{name} {seen:.2f} and {label_ranking_loss(right.numpy(), scores.numpy()):.2f}")
print(f"torchmetrics {importlib.metadata.version('torchmetrics')} and scikit-learn: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchmetrics 1.9.0 and scikit-learn: constant, last right 0.00 and 1.00; first right 1.00 and 1.00;\
 random 0.49 and 0.98; steps of .25 0.50 and 0.63; reversed 0.50 and 0.63"
