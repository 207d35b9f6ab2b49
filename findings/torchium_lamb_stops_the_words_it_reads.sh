#!/usr/bin/env bash
# In LAMB of torchium words that are not in a batch stop those that are: with weight decay they move a 2,000th as far.
#
# Guess before the run: LAMB of torchium, one of its "optimizers specialized for NLP", trains the words of a batch with
# weight decay as without it, but for a small pull to zero.
# Seen: torchium 0.1.5. The decay is added to the mean of the gradients and divided by their root mean square with it,
# where LAMB's paper adds it after the division. For a word without a gradient that is .01 w / .000001, so 10,000 w. The
# step of the whole matrix is then scaled to its norm, which such words have alone: ten words of a thousand that are
# read move by .21 of their length in 20 steps without decay, and by .0001 with it, while all others shrink by 2 %.
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
from torchium.optimizers import LAMB


def moved(decay):
    torch.manual_seed(0)
    words = torch.nn.Embedding(1000, 16)
    torch.nn.init.normal_(words.weight, std=0.02)
    start = words.weight.detach().clone()
    target = torch.randn(10, 16)
    optimizer = LAMB(words.parameters(), lr=0.001, weight_decay=decay)
    for _ in range(20):
        optimizer.zero_grad()
        ((words(torch.arange(10)) - target) ** 2).sum().backward()
        optimizer.step()
    with torch.no_grad():
        ratio = (words.weight - start)[:10].norm() / start[:10].norm()
        return f"{ratio:.4f}, others are {words.weight[10:].norm() / start[10:].norm():.2f} of their length"


version = importlib.metadata.version("torchium")
print(f"torchium {version}, words that are read move by, decay 0: {moved(0.0)}; decay .01: {moved(0.01)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchium 0.1.5, words that are read move by, decay 0: 0.2061, others are 1.00 of their length; decay\
 .01: 0.0001, others are 0.98 of their length"
