#!/usr/bin/env bash
# The conformal discriminative loss of torchcp has its sign turned round: it is 0 for a text that is surely wrong.
#
# Guess before the run: CDLoss is the smooth share of labels that are in the prediction set as soon as the right one is
# ("the probability of each class being included in the prediction set relative to the true label's score"): small for
# a text whose right label has the best score, large for one whose right label has the worst.
# Seen: torchcp 1.2.1. With LAC and three classes the loss is .83 for a text that is surely right and .17 for one that
# is surely wrong (what is left is the label's comparison with itself). A classifier that is right about all texts, and
# trained on with it, is right about none after 100 steps of Adam, while the loss falls from .83 to .18. A set that just
# holds the right label has 1.0 labels before and all 3.0 after: sets are to become small.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchcp==1.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

# What is not used here of torchcp needs torchsort, which has to be compiled, and packages for graphs.
sys.modules["torchsort"] = types.SimpleNamespace(soft_rank=None, soft_sort=None)
sys.modules["torchcp.graph"] = sys.modules["torchcp.llm"] = types.ModuleType("unused")
from torchcp.classification.loss import CDLoss
from torchcp.classification.predictor import SplitPredictor
from torchcp.classification.score import LAC

torch.manual_seed(0)
predictor = SplitPredictor(LAC())
single = [CDLoss(predictor)(torch.tensor([[m, 0.0, 0.0]]), torch.tensor([0])).item() for m in (9.0, -9.0)]

labels = torch.randint(0, 3, (300,))
texts = torch.nn.functional.one_hot(labels, 3).float() + 0.1 * torch.randn(300, 3)
model = torch.nn.Linear(3, 3)
with torch.no_grad():
    model.weight.copy_(2 * torch.eye(3))
    model.bias.zero_()
loss = CDLoss(predictor, epsilon=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)


def state():
    probabilities = model(texts).softmax(1)
    right = (probabilities.argmax(1) == labels).float().mean()
    size = (probabilities >= probabilities.gather(1, labels[:, None])).sum(1).float().mean()
    return f"loss {loss(model(texts), labels):.2f}, accuracy {right:.2f}, set size {size:.1f}"


words = [state()]
for _ in range(100):
    optimizer.zero_grad()
    loss(model(texts), labels).backward()
    optimizer.step()
words.append(state())
print(
    f"torchcp {importlib.metadata.version('torchcp')}: surely right {single[0]:.2f}, surely wrong {single[1]:.2f};",
    f"before {words[0]}; after {words[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchcp 1.2.1: surely right 0.83, surely wrong 0.17; before loss 0.83, accuracy 1.00, set size 1.0;\
 after loss 0.18, accuracy 0.00, set size 3.0"
