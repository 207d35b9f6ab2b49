#!/usr/bin/env bash
# InstanceLoss of pytorch-metric-learning takes the rank of a label for the number of a text: texts of two classes meet.
#
# Guess before the run: `InstanceLoss` with labels 3, 1, 4, 0, 5, 2 of six texts, each its own class, keeps all six
# apart; with two texts in each of three classes it brings these together and keeps the others apart.
# Seen: pytorch-metric-learning 2.9.0. The loss is a cross entropy over the texts of the batch, and its target is the
# rank of the label among the labels of the batch, taken for the number of a text. It is right if labels are 0, 1, 2
# and so on in this order alone. With the order above the vectors of texts 0 and 3 end up equal, with a cosine of 1.00,
# and so do 2, 4 and 5, though all six are of different classes. Perfect vectors of three classes, one direction each,
# have a loss of 43.36, and a training joins and parts the wrong ones: at the end a pair of one class has a cosine of
# .58 and a pair of two classes one of .88.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-metric-learning==2.9.0 torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_metric_learning.losses import InstanceLoss


def train(labels):
    """Loss of one direction for each class, and what a training makes of the cosines."""
    labels = torch.tensor(labels)
    start = InstanceLoss()(torch.eye(8)[labels], labels).item()
    torch.manual_seed(0)
    vectors = torch.nn.Parameter(torch.randn(len(labels), 8))
    optimizer = torch.optim.Adam([vectors], 0.05)
    for _ in range(600):
        optimizer.zero_grad()
        InstanceLoss(gamma=5)(vectors, labels).backward()
        optimizer.step()
    unit = torch.nn.functional.normalize(vectors.detach(), dim=1)
    cosines = unit @ unit.T
    same = labels[:, None] == labels
    off = ~torch.eye(len(labels), dtype=bool)
    words = [f"loss {start:.2f}"]
    if (same & off).any():
        words.append(f"lowest within classes {cosines[same & off].min():.2f}")
    words.append(f"highest between {cosines[~same].max():.2f}")
    return " ".join(words)


version = importlib.metadata.version("pytorch-metric-learning")
cases = [[0, 1, 2, 3, 4, 5], [3, 1, 4, 0, 5, 2], [0, 0, 1, 1, 2, 2]]
print(f"pytorch-metric-learning {version}:", "; ".join(f"{labels} {train(labels)}" for labels in cases))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-metric-learning 2.9.0: [0, 1, 2, 3, 4, 5] loss 0.00 highest between -0.20; [3, 1, 4, 0, 5, 2]\
 loss 53.33 highest between 1.00; [0, 0, 1, 1, 2, 2] loss 43.36 lowest within classes 0.58 highest between 0.88"
