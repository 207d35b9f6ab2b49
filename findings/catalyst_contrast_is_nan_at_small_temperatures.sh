#!/usr/bin/env bash
# The NT-Xent loss of Catalyst is NaN at the temperature of SimCSE, .05, and its gradient is another one.
#
# Guess before the run: `NTXentLoss(tau)` is a cross entropy over the similarities of a batch, by a softmax of cosines
# divided by tau: never negative, and right at small temperatures.
# Seen: catalyst 22.4, float32. It adds up all exponentials and takes e^(1/tau) off for the text itself: 485 million at
# .05, where float32 has steps of 32. What is left can be below 0: then its logarithm is NaN and its gradient points the
# other way. Of 64 pairs of vectors with a cosine of about .3 the loss is right at .5 and .1, and NaN at .05, where it
# is to be 0.34, with numbers for a gradient that are not those of the loss; at .02 the gradient is NaN, too, and so are
# pairs with a cosine of .9 at .01. PyTorch's cross entropy with the diagonal masked has none of this.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    catalyst==22.4 torch==2.14.1 numpy==2.4.6 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from catalyst.contrib.losses import NTXentLoss

torch.manual_seed(0)
first = torch.randn(64, 768)


def right(a, b, tau):
    """In float64, with the text itself left out."""
    unit = torch.nn.functional.normalize(torch.cat([a, b]).double())
    scores = (unit @ unit.T / tau).fill_diagonal_(-1e9)
    return torch.nn.functional.cross_entropy(scores, torch.arange(128).roll(64))


def both(noise, tau):
    second = first + noise * torch.randn(64, 768)
    losses, gradients = [], []
    for function in (NTXentLoss(tau), lambda a, b: right(a, b, tau)):
        leaf = first.clone().requires_grad_()
        loss = function(leaf, second)
        loss.backward()
        losses.append(f"{loss.item():.2f}")
        gradients.append(leaf.grad.flatten())
    cosine = torch.nn.functional.cosine_similarity(*gradients, dim=0)
    found = "NaN" if cosine.isnan() else "right" if cosine > 0.99 else "another"
    return f"{tau:g}: {losses[0]} ({losses[1]}), gradient {found}"


far = ", ".join(both(3.0, tau) for tau in (0.5, 0.1, 0.05, 0.02))
near = ", ".join(both(0.5, tau) for tau in (0.1, 0.01))
print(f"catalyst {importlib.metadata.version('catalyst')}, cosine .3: {far}; cosine .9: {near}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catalyst 22.4, cosine .3: 0.5: 4.23 (4.23), gradient right, 0.1: 1.91 (1.91), gradient right, 0.05:\
 nan (0.34), gradient another, 0.02: nan (0.00), gradient NaN; cosine .9: 0.1: 0.02 (0.02), gradient right, 0.01: nan\
 (0.00), gradient NaN"
