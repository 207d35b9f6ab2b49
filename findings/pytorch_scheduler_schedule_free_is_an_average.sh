#!/usr/bin/env bash
# The schedule-free wrapper of pytorch-scheduler takes gradients where the plain optimizer does: beta moves nothing.
#
# Guess before the run: `ScheduleFreeWrapper(sgd, beta=.9)` takes gradients at a point between the iterate and the
# average, as in the paper that it names, so that another `beta` leads elsewhere.
# Seen: pytorch-scheduler 0.2.2. The weights in training are those of SGD, with a beta of 0, .5, .9 and .99: gradients
# are taken at the iterate, and only an average is kept beside it. For the square of a weight at a rate of 1.9 SGD is
# at .122 after 20 steps, and so is the wrapper with each beta; by the definition it is at .122, .000, -.032 and -.157.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-scheduler==0.2.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_scheduler.experimental import ScheduleFreeWrapper


def iterate(beta=None, rate=1.9):
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=rate)
    if beta is not None:
        optimizer = ScheduleFreeWrapper(optimizer, beta=beta)
    for _ in range(20):
        weight.grad = weight.detach().clone()
        optimizer.step()
    return weight.item()


def by_definition(beta, rate=1.9):
    iterate = average = 1.0
    for step in range(1, 21):
        iterate -= rate * ((1 - beta) * iterate + beta * average)
        average += (iterate - average) / step
    return iterate


betas = (0.0, 0.5, 0.9, 0.99)
print(
    f"pytorch-scheduler {importlib.metadata.version('pytorch-scheduler')}: SGD {iterate():.3f}, wrapper with beta",
    f"{', '.join(f'{beta}: {iterate(beta):.3f}' for beta in betas)}; by definition",
    f"{', '.join(f'{beta}: {by_definition(beta):.3f}' for beta in betas)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-scheduler 0.2.2: SGD 0.122, wrapper with beta 0.0: 0.122, 0.5: 0.122, 0.9: 0.122, 0.99:\
 0.122; by definition 0.0: 0.122, 0.5: 0.000, 0.9: -0.032, 0.99: -0.157"
