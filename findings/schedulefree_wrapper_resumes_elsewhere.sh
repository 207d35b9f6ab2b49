#!/usr/bin/env bash
# A run with ScheduleFreeWrapper that resumes from its states goes on elsewhere: it moves the loaded weights once more.
#
# Guess before the run: a run that is saved with the states of model and optimizer, and goes on from them after
# `optimizer.train()`, has the weights of a run without a break, as with AdamWScheduleFree of the same package.
# Seen: schedulefree 1.4.1, PyTorch 2.13.0. The optimizers of the package keep in their groups, and so in their state,
# whether the weights are those for training (y) or for evaluation (x); the wrapper keeps it in an attribute of its own
# that is not in the state, and begins with evaluation. Weights that are saved in training are loaded as y, and
# `train()` takes them for x and moves them a tenth of the way to z once more. Saved after `eval()`, with a call of
# `train()` after that, the runs are the same. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    schedulefree==1.4.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import copy
import importlib.metadata

import torch
from schedulefree import AdamWScheduleFree, ScheduleFreeWrapper

torch.manual_seed(0)
features = torch.randn(64, 8)
labels = features @ torch.randn(8, 1)
start = torch.nn.Linear(8, 1)


def wrap(weights):
    return ScheduleFreeWrapper(torch.optim.SGD(weights, lr=0.05), momentum=0.9)


def train(model, optimizer, steps):
    optimizer.train()
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(features), labels).backward()
        optimizer.step()


def difference(make, evaluate):
    """Trains 40 steps, with a break after 20 and without, and compares the weights."""
    models = []
    for broken in (False, True):
        model = copy.deepcopy(start)
        optimizer = make(model.parameters())
        train(model, optimizer, 20)
        if evaluate:
            optimizer.eval()
        if broken:
            states = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
            model = torch.nn.Linear(8, 1)
            optimizer = make(model.parameters())
            model.load_state_dict(states[0])
            optimizer.load_state_dict(states[1])
        train(model, optimizer, 20)
        models.append(model.weight.detach())
    return "0" if torch.equal(*models) else f"above {0.001 if (models[0] - models[1]).abs().max() > 0.001 else 0}"


makes = {"AdamWScheduleFree": lambda weights: AdamWScheduleFree(weights, lr=0.05), "ScheduleFreeWrapper": wrap}
words = []
for name, make in makes.items():
    words.append(f"{name} saved in training {difference(make, False)}, in evaluation {difference(make, True)}")
version = importlib.metadata.version("schedulefree")
print(f"schedulefree {version}, difference of the weights with a break: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "schedulefree 1.4.1, difference of the weights with a break: AdamWScheduleFree saved in training 0, in \
evaluation 0; ScheduleFreeWrapper saved in training above 0.001, in evaluation 0"
