#!/usr/bin/env bash
# Of a whole training torchbearer clips the norm of the first gradient alone, and decays weights in the first step.
#
# Guess before the run: `GradientNormClipping(1.0)` lets no gradient with a norm above 1 reach the optimizer, and
# `L2WeightDecay` adds its term to the loss of every step.
# Seen: torchbearer 0.5.5 with torch 2.13.0. Of four steps the norms of the gradients behind the callback are 1, 118,
# 104 and 128; `GradientClipping`, which limits values, holds in all four. With a decay of 1,000 times the norm the loss
# of one and the same batch is above 1,000 in the first step and 35 in the next three. Both callbacks keep the model's
# parameters as an iterator, the one of `filter` and the one of `parameters()`, which is at its end after the first
# step: there is nothing left to clip or to decay, and nothing is said. A list that is given as `params` works.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchbearer==0.5.5 torch==2.13.0 numpy==2.4.6 tqdm==4.70.1 packaging==25.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torchbearer
from torchbearer import callbacks

torch.manual_seed(0)
x = 100 * torch.randn(32, 8)
y = torch.arange(32) % 3


class Recorder(callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.norms = []
        self.values = []
        self.losses = []

    def on_backward(self, state):
        gradients = [weight.grad for weight in state[torchbearer.MODEL].parameters()]
        self.norms.append(float(torch.nn.utils.get_total_norm(gradients)))
        self.values.append(max(float(gradient.abs().max()) for gradient in gradients))
        self.losses.append(float(state[torchbearer.LOSS].detach()))


def record(callback, rate, batch_size, epochs):
    torch.manual_seed(0)
    network = torch.nn.Linear(8, 3)
    recorder = Recorder()
    trial = torchbearer.Trial(
        network,
        torch.optim.SGD(network.parameters(), lr=rate),
        torch.nn.CrossEntropyLoss(),
        callbacks=[callback, recorder],
        verbose=0,
    )
    trial.with_train_data(x, y, batch_size=batch_size, shuffle=False).run(epochs)
    return recorder


norms = record(callbacks.GradientNormClipping(1.0), 0.01, 8, 1).norms
values = record(callbacks.GradientClipping(1.0), 0.01, 8, 1).values
losses = record(callbacks.L2WeightDecay(rate=1000.0), 0.0, 32, 4).losses
print(
    f"torchbearer {importlib.metadata.version('torchbearer')}: norms above 1.01 {[norm > 1.01 for norm in norms]}, "
    f"values {[value > 1.01 for value in values]}, losses above 1,000 {[loss > 1000 for loss in losses]}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchbearer 0.5.5: norms above 1.01 [False, True, True, True], values [False, False, False, False], lo\
sses above 1,000 [True, False, False, False]"
