#!/usr/bin/env bash
# In bfloat16 one step of Adai of pytorch_optimizer makes the vectors of all words NaN that are not in the batch.
#
# Guess before the run: Adai trains a bfloat16 embedding as it trains one in float32 or float16: words of the batch
# move, others stay.
# Seen: pytorch_optimizer 4.1.0. The decay of a weight's momentum is at most 1 - .001, which bfloat16 rounds to 1. So
# the bias correction divides by 1 - 1, and a weight whose gradient is 0 becomes 0 / 0. It isn't such words alone:
# weights whose squared gradients are below a fiftieth of the mean of all are NaN, so that two of ten words that are
# read have some. The loss tells it once one of them is read. In float32 and float16 none is, and `eps=0.01` helps.
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
import warnings

import torch
from pytorch_optimizer import Adai, AdamP

warnings.simplefilter("ignore")


def lost(dtype, optimizer_class=Adai, **options):
    torch.manual_seed(0)
    words = torch.nn.Embedding(100, 8).to(dtype)
    optimizer = optimizer_class(words.parameters(), lr=0.001, **options)
    target = torch.randn(10, 8)
    ((words(torch.arange(10)).float() - target) ** 2).sum().backward()
    optimizer.step()
    return [int(words.weight[rows].isnan().any(dim=1).sum()) for rows in (slice(10), slice(10, 100))]


parts = [f"{str(dtype)[6:]} {lost(dtype)}" for dtype in (torch.float32, torch.float16, torch.bfloat16)]
parts.append(f"bfloat16 with eps=.01 {lost(torch.bfloat16, eps=0.01)}")
parts.append(f"bfloat16 AdamP {lost(torch.bfloat16, AdamP)}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, words with NaN, of 10 that are read and of 90 others: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, words with NaN, of 10 that are read and of 90 others: float32 [0, 0], float16\
 [0, 0], bfloat16 [2, 90], bfloat16 with eps=.01 [0, 0], bfloat16 AdamP [0, 0]"
