#!/usr/bin/env bash
# A Bayesian layer of blitz that was moved, to a GPU or another type, is untrained as soon as it is frozen.
#
# Guess before the run: `freeze_()` makes a trained model use the means of its weights: its predictions are those of the
# average over draws, whether it was converted by `.double()` before the training or not.
# Seen: blitz-bayesian-pytorch 0.2.8. A layer holds its means twice, as two parameters over one memory: draws read one
# of them, and it alone is trained; frozen, the other is read. `.double()`, as `.to("cuda")`, gives each its own memory,
# so that a frozen model predicts with the means that it had when it was moved, and nothing is said. Unconverted both
# are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    blitz-bayesian-pytorch==0.2.8 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from blitz.modules import BayesianLinear
from blitz.utils import variational_estimator


@variational_estimator
class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = BayesianLinear(16, 4)

    def forward(self, texts):
        return self.linear(texts)


def accuracies(kind):
    torch.manual_seed(0)
    labels = torch.randint(0, 4, (400,))
    texts = (2 * torch.randn(4, 16)[labels] + torch.randn(400, 16)).to(kind)
    head = Head().to(kind)
    optimizer = torch.optim.Adam(head.parameters(), 0.01)
    for _ in range(200):
        loss = torch.nn.functional.cross_entropy(head(texts), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    values = [head.mfvi_forward(texts)[0]]
    head.freeze_()
    values.append(head(texts))
    return " ".join(f"{(value.argmax(1) == labels).float().mean().item():.2f}" for value in values)


version = importlib.metadata.version("blitz-bayesian-pytorch")
words = [f"{str(kind).split('.')[1]} {accuracies(kind)}" for kind in (torch.float32, torch.float64, torch.bfloat16)]
print(f"blitz {version}, accuracy of draws and frozen: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "blitz 0.2.8, accuracy of draws and frozen: float32 1.00 1.00, float64 1.00 0.12, bfloat16 1.00 0.12"
