#!/usr/bin/env bash
# The bias of a yes or no is wrong with ROSE of pytorch_optimizer: a BERT says 6 % where 2 % are positive, or 0 %.
#
# Guess before the run: ROSE, whose updates are "scaled by ranges" of gradients, finds the bias of a classifier of one
# label as Adam does: it says .5 where half of the texts are positive, and .02 where 2 of 100 are.
# Seen: pytorch_optimizer 4.1.0, batches of 32, a rate of .01, the mean of the last 1,000 of 4,000 steps. With one label
# it says .58 and .063; AdamW .50 and .022. The range of a vector of gradients is the size of its greatest number minus
# its least number. For one negative gradient that is twice its size, so that the bias rises by half the rate; for a
# positive one it is 0, and then 1 is taken: the bias falls by the rate times a small gradient. With two labels it says
# .43 and .000: two positive gradients that are nearly equal have a range of nearly 0, and a step down without end.
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
from torch.nn.functional import binary_cross_entropy_with_logits

parts = []
for name, labels in (("adamw", 1), ("rose", 1), ("adamw", 2), ("rose", 2)):
    seen = []
    for share in (0.5, 0.02):
        bias = torch.nn.Parameter(torch.zeros(labels))
        optimizer = load_optimizer(name)([bias], lr=0.01, weight_decay=0.0)
        random = torch.Generator().manual_seed(0)
        means = []
        for step in range(4000):
            targets = (torch.rand(32, labels, generator=random) < share).float()
            loss = binary_cross_entropy_with_logits(bias.expand(32, labels), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step >= 3000:
                means.append(float(torch.sigmoid(bias.detach()).mean()))
        seen.append(f"{sum(means) / len(means):.3f}")
    parts.append(f"{name} with {labels}: {' and '.join(seen)}")
version = importlib.metadata.version("pytorch_optimizer")
print(f"pytorch_optimizer {version}, probability where .5 and .02 are positive: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch_optimizer 4.1.0, probability where .5 and .02 are positive: adamw with 1: 0.497 and 0.022;\
 rose with 1: 0.582 and 0.063; adamw with 2: 0.502 and 0.020; rose with 2: 0.434 and 0.000"
