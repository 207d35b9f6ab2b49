#!/usr/bin/env bash
# With `batches_per_step=2` Poutyne's ClipNorm(1.0) makes steps of 1/64 where batches have 32 texts: it clips sums.
#
# Guess before the run: gradients of several batches are added up to the gradient of one large batch, which a clip at a
# norm of 1 shortens to 1, so that a step with SGD at a rate of 1 has the length 1 with `batches_per_step` 1, 2 and 4.
# Seen: poutyne 1.19.0. All three train on the same 64 texts in one step. In one batch of 64 the step has the length 1,
# as clipped; in two batches of 32 and in four of 16 it is .0156, 1/64. `batches_per_step` weights each batch's loss by
# its texts, so that gradients add up to a sum over texts, and divides by their number right before the step. The
# callback runs after every backward pass, before that division: the sum of a few hundred is clipped to 1, and then
# divided by 64. With fewer batches than that a limit that never took effect takes effect in every step.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    poutyne==1.19.0 torch==2.13.0 numpy==2.4.6 torchmetrics==1.9.0 lightning-utilities==0.15.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import poutyne
import torch

random = np.random.default_rng(0)
x = 100 * random.normal(size=(64, 8)).astype("float32")
y = np.arange(64) % 3


def length_of_step(batches):
    torch.manual_seed(0)
    network = torch.nn.Linear(8, 3)
    before = torch.nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    model = poutyne.Model(network, torch.optim.SGD(network.parameters(), lr=1.0), "cross_entropy")
    clip = poutyne.ClipNorm(network.parameters(), 1.0)
    model.fit(x, y, batch_size=64 // batches, epochs=1, batches_per_step=batches, verbose=False, callbacks=[clip])
    after = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
    return f"{(after - before).norm():.4f}"


steps = ", ".join(f"{batches}: {length_of_step(batches)}" for batches in (1, 2, 4))
print(f"poutyne {importlib.metadata.version('poutyne')}: steps by batches {steps}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "poutyne 1.19.0: steps by batches 1: 1.0000, 2: 0.0156, 4: 0.0156"
