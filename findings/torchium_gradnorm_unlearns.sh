#!/usr/bin/env bash
# GradNorm of torchium makes a model unlearn: the weights of its tasks fall below 0, and their losses are driven up.
#
# Guess before the run: `GradNormLoss(2)`, "for balancing gradients in multi-task learning", keeps the weights of two
# tasks positive, with a sum of 2, and a classifier that is trained with it learns as with plain sums.
# Seen: torchium 0.1.5. The loss is the sum of learned weights times losses, and nothing else: no norms, no sum, and
# `alpha` is unused. The cheapest weights are negative ones. With Adam at .01 accuracy is .92 after 100 steps; after 150
# both weights are negative, and after 400 they are -5 and accuracy is .16, where chance has .33. `PCGradLoss` and
# `CAGradLoss` of the same package are plain sums.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchium==0.1.5 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torch.nn.functional as functional
from torchium.losses import CAGradLoss, GradNormLoss, PCGradLoss

x = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
labels = x[:, :3].argmax(1)
parts = []
for name, balance in (("GradNorm", GradNormLoss(2)), ("PCGrad", PCGradLoss()), ("CAGrad", CAGradLoss(2))):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.Adam([*model.parameters(), *balance.parameters()], lr=0.01)
    seen = []
    for step in range(401):
        optimizer.zero_grad()
        logits = model(x)
        loss = balance([functional.cross_entropy(logits, labels), functional.cross_entropy(logits / 2, labels)])
        loss.backward()
        optimizer.step()
        if step in (100, 150, 400):
            accuracy = (logits.argmax(1) == labels).double().mean()
            weights = "".join(f" {float(weight):.1f}" for weight in getattr(balance, "weights", []))
            seen.append(f"{accuracy:.2f}{weights}")
    parts.append(f"{name} {', '.join(seen)}")
version = importlib.metadata.version("torchium")
print(f"torchium {version}, accuracy and weights after 100, 150 and 400 steps: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5, accuracy and weights after 100, 150 and 400 steps: GradNorm 0.92 0.2 0.1, 0.97 -0.2\
 -0.4, 0.16 -5.4 -5.0; PCGrad 0.94, 0.97, 0.98; CAGrad 0.94, 0.97, 0.98"
