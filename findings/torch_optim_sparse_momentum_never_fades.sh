#!/usr/bin/env bash
# The momentum of torch-optim-sparse never fades: after 100 equal gradients a word's step is 100 times the first one.
#
# Guess before the run: `SparserSGD` with a momentum of .9 moves the word embeddings that a batch reads as PyTorch's
# SGD does: steps grow to ten times the first one at most.
# Seen: torch-optim-sparse 0.1.3. A word that is in all 100 batches, gradients of 1, a rate of .001: it is at -5.05,
# where PyTorch is at -.91. The product with the momentum is made on a copy of the rows, so that gradients add up and
# are never forgotten. A momentum of .5 and one of .9 give the same weights. In SparserSGDW it is so, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torch-optim-sparse==0.1.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch_optim_sparse import SparserSGD, SparserSGDW


def place(optimizer, momentum, sparse):
    words = torch.nn.Embedding(4, 2, sparse=sparse)
    torch.nn.init.zeros_(words.weight)
    optimizer = optimizer(words.parameters(), lr=0.001, momentum=momentum)
    for _ in range(100):
        optimizer.zero_grad()
        words(torch.tensor([1, 2])).sum().backward()
        optimizer.step()
    return f"{words.weight[1, 0].item():.2f}"


print(
    f"torch-optim-sparse {importlib.metadata.version('torch-optim-sparse')}: momentum 0.5 and 0.9: SparserSGD",
    place(SparserSGD, 0.5, True),
    place(SparserSGD, 0.9, True),
    "SparserSGDW",
    place(SparserSGDW, 0.5, True),
    place(SparserSGDW, 0.9, True),
    "PyTorch",
    place(torch.optim.SGD, 0.5, False),
    place(torch.optim.SGD, 0.9, False),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-optim-sparse 0.1.3: momentum 0.5 and 0.9: SparserSGD -5.05 -5.05 SparserSGDW -5.05 -5.05\
 PyTorch -0.20 -0.91"
