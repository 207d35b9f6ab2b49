#!/usr/bin/env bash
# NCALoss of pytorch-metric-learning leaves out the texts that are furthest from their class, and makes gradients NaN.
#
# Guess before the run: on vectors as BERT has them, of length 16 and not normalized, `NCALoss` is the mean of all
# texts, with a gradient for each, as a log-softmax of the negative squared distances.
# Seen: pytorch-metric-learning 2.9.0. It takes the logarithm of a sum of probabilities, and leaves out the texts whose
# sum is exactly 0, which are those with the greatest loss. 64 vectors of 768 units, two in each class: at lengths of
# 11 and 14 loss and gradients are right; at 17 five texts are left out, and the loss is 58.04 where 62.42 is right; at
# 28 11 of 64 texts count, with 70.26 for 173.16. Where a sum is nearly 0 its reciprocal is infinite, and the gradient
# of the loss is NaN, in both. The default distance is one of unit vectors.
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
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import NCALoss

labels = torch.arange(64) // 2
same = labels[:, None] == labels
words = []
for scale in (0.4, 0.5, 0.6, 1.0):
    torch.manual_seed(0)
    vectors = (torch.randn(64, 768) * scale).requires_grad_()
    loss = NCALoss(distance=LpDistance(normalize_embeddings=False, power=2))(vectors, labels)
    loss.backward()
    scores = -torch.cdist(vectors, vectors).pow(2).detach().fill_diagonal_(torch.inf)
    logs = torch.log_softmax(scores, 1).masked_fill(~same, -torch.inf).logsumexp(1)
    counted = ((logs.exp() != 0).sum()).item()
    gradient = "NaN" if vectors.grad.isnan().any() else "finite"
    length = vectors.norm(dim=1).mean()
    words.append(f"{length:.0f}: {loss:.2f} of {-logs.mean():.2f}, {counted} texts, gradient {gradient}")
version = importlib.metadata.version("pytorch-metric-learning")
print(f"pytorch-metric-learning {version}, loss at a length of", "; ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-metric-learning 2.9.0, loss at a length of 11: 27.89 of 27.89, 64 texts, gradient finite; 14:\
 43.41 of 43.41, 64 texts, gradient finite; 17: 58.04 of 62.42, 59 texts, gradient NaN; 28: 70.26 of 173.16, 11\
 texts, gradient NaN"
