#!/usr/bin/env bash
# Gravity of pytorch_optimizer begins with noise that no learning rate makes smaller: weights of .020 move by .027.
#
# Guess before the run: at a learning rate of .00001, as for the fine-tuning of a BERT, Gravity moves weights by some
# .00001 in a step.
# Seen: pytorch_optimizer 4.1.0. Its velocity begins at random, with a deviation of alpha / rate, and is multiplied by
# the rate: alpha, .01, is left. In the first step weights move by .0063 and in 20 steps by .0272, at a rate of .01, of
# .00001 and of .00000001 alike. A BERT's weights have a deviation of .02: what was learned before is lost before the
# first epoch is over. That is Gravity's own rule, for models that begin at random; the page says "alpha controls the V
# initialization".
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
from pytorch_optimizer import load_optimizer

parts = []
for rate in (1e-2, 1e-5, 1e-8):
    torch.manual_seed(0)
    weight = torch.nn.Parameter(0.02 * torch.randn(256, 256))
    before = weight.detach().clone()
    optimizer = load_optimizer("gravity")([weight], lr=rate)
    moved = []
    for step in range(1, 21):
        weight.grad = 0.001 * torch.randn(256, 256)
        optimizer.step()
        if step in (1, 20):
            moved.append(f"{float((weight.detach() - before).std()):.4f}")
    parts.append(f"at a rate of {rate:g} {moved[0]} and {moved[1]}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, weights of .0200 move in 1 and 20 steps: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, weights of .0200 move in 1 and 20 steps: at a rate of 0.01 0.0063 and 0.0272,\
 at a rate of 1e-05 0.0063 and 0.0272, at a rate of 1e-08 0.0063 and 0.0272"
