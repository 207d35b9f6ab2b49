#!/usr/bin/env bash
# The class-balanced sigmoid loss of torchium teaches a model to say yes to negative texts: its gradient has that sign.
#
# Guess before the run: `ClassBalancedLoss(loss_type="sigmoid")` is the sigmoid cross entropy with weights of classes:
# the logit of a negative text falls, and a sure false alarm costs most.
# Seen: torchium 0.1.5. It multiplies the cross entropy by (1 - p)², with the probability of yes for all texts, also
# where the label is no. For a negative text the product falls as p rises, so gradient descent lifts its logit. A false
# alarm with a logit of 10 costs .00000002 (cross entropy 10), one with 0 .17. Trained on 90 negative and 10 positive
# texts of one kind a model says .99, where .10 is right.
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
from torchium.losses import ClassBalancedLoss

criterion = ClassBalancedLoss(torch.tensor([100.0, 100.0]), loss_type="sigmoid")
parts = []
for value in (-2.0, 0.0, 5.0, 10.0):
    logit = torch.tensor([value], requires_grad=True)
    loss = criterion(logit, torch.zeros(1))
    loss.backward()
    plain = torch.nn.functional.binary_cross_entropy_with_logits(logit, torch.zeros(1))
    parts.append(f"logit {value:g}: {loss.item():.1e}, gradient {logit.grad.item():.1e}, cross entropy {plain:.2f}")
bias = torch.zeros(1, requires_grad=True)
labels = (torch.arange(100) < 10).float()
optimizer = torch.optim.Adam([bias], lr=0.05)
for _ in range(1000):
    optimizer.zero_grad()
    criterion(bias.expand(100), labels).backward()
    optimizer.step()
version = importlib.metadata.version("torchium")
print(f"torchium {version}, a negative text: {'; '.join(parts)}; trained on .10: {bias.sigmoid().item():.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5, a negative text: logit -2: 9.8e-02, gradient 6.9e-02, cross entropy 0.13; logit 0:\
 1.7e-01, gradient -4.8e-02, cross entropy 0.69; logit 5: 2.2e-04, gradient -4.0e-04, cross entropy 5.01; logit 10:\
 2.1e-08, gradient -3.9e-08, cross entropy 10.00; trained on .10: 0.99"
