#!/usr/bin/env bash
# `weight_decay` of SparserAdamW in torch-optim-sparse does nothing: word embeddings are as long with .5 as with 0.
#
# Guess before the run: `SparserAdamW(weight_decay=.5)` decays the rows of the words that a batch reads in each step,
# by the learning rate times .5, as AdamW does with all rows.
# Seen: torch-optim-sparse 0.1.3. 100 steps at a rate of .01 whose gradients are 1 and -1 in turn: the row of a word is
# the same to the last bit with a decay of 0, .5 and 5. It is at .98; PyTorch's AdamW shrinks it to .59 with .5. The
# decay is made on a copy of the rows that is thrown away. `SparserAdam`, whose decay is a part of the gradient, does
# decay.
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
from torch_optim_sparse import SparserAdam, SparserAdamW


def row(optimizer, decay, sparse=True):
    words = torch.nn.Embedding(4, 2, sparse=sparse)
    torch.nn.init.ones_(words.weight)
    optimizer = optimizer(words.parameters(), lr=0.01, weight_decay=decay)
    for step in range(100):
        optimizer.zero_grad()
        (words(torch.tensor([1])).sum() * (-1) ** step).backward()
        optimizer.step()
    return words.weight[1, 0].item()


same = len({row(SparserAdamW, decay) for decay in (0.0, 0.5, 5.0)})
print(
    f"torch-optim-sparse {importlib.metadata.version('torch-optim-sparse')}: decay 0 and .5: SparserAdamW",
    f"{row(SparserAdamW, 0.0):.2f} {row(SparserAdamW, 0.5):.2f} ({same} value of three),",
    f"PyTorch's AdamW {row(torch.optim.AdamW, 0.0, False):.2f} {row(torch.optim.AdamW, 0.5, False):.2f},",
    f"SparserAdam {row(SparserAdam, 0.0):.2f} {row(SparserAdam, 0.5):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torch-optim-sparse 0.1.3: decay 0 and .5: SparserAdamW 0.98 0.98 (1 value of three), PyTorch's AdamW\
 0.98 0.59, SparserAdam 0.98 0.62"
