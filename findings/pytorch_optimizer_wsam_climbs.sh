#!/usr/bin/env bash
# With `max_norm` WSAM of pytorch_optimizer climbs: as soon as gradients are clipped, each step makes the loss larger.
#
# Guess before the run: `WSAM(max_norm=1.0)`, "max norm of the gradients", takes smaller steps where gradients are long,
# and the loss falls more slowly.
# Seen: pytorch_optimizer 4.1.0. A linear regression with SGD at .01: without `max_norm` the loss falls from 569 to 99
# in 30 steps, with it it rises to 111,516,608. The gradient at the moved weights is clipped, that at the weights
# themselves is not. Their difference, the "sharpness", is then nearly the gradient with its sign turned round, and
# counts gamma / (1 - gamma), nine times, in the step. A BERT that is fine-tuned with WSAM and the usual clip of 1
# unlearns.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch_optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_optimizer import WSAM

parts = []
for clip in (None, 1.0):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    x = torch.randn(64, 4, generator=torch.Generator().manual_seed(1))
    target = 10 * x.sum(1, keepdim=True)
    optimizer = WSAM(model, model.parameters(), torch.optim.SGD, lr=0.01, max_norm=clip)

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - target).square().mean()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(31)]
    parts.append(f"max_norm={clip}: {', '.join(f'{loss:.0f}' for loss in losses[::10])}")
print(f"pytorch_optimizer {importlib.metadata.version('pytorch_optimizer')}, loss in steps 0 to 30: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, loss in steps 0 to 30: max_norm=None: 569, 318, 178, 99; max_norm=1.0: 569,\
 31732, 1870584, 111516608"
