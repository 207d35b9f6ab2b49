#!/usr/bin/env bash
# After spacecutter-torch has put its cutpoints in order they may fall all the same: a class has a probability of -.15.
#
# Guess before the run: `AscensionCallback`, which is to "ensure that each cutpoint is ordered in ascending value",
# leaves cutpoints that rise, whatever a step has made of them, so that no probability is negative.
# Seen: spacecutter-torch 1.0.0. Each cutpoint is cut to the next one as that was before: 3, 2, 1, 4 become 2, 1, 1, 4,
# and the five classes have the probabilities .88 -.15 .00 .25 .02. Of 1,000 random orders of four cutpoints 581 still
# fall somewhere after one call. After a second call 259 fall, after a third none.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    spacecutter-torch==1.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from spacecutter.callbacks import AscensionCallback
from spacecutter.models import OrdinalLogisticHead

torch.manual_seed(0)
head = OrdinalLogisticHead(5)


def after(cutpoints, calls=1, margin=0.0):
    head.link.cutpoints.data = torch.as_tensor(cutpoints, dtype=torch.float32).clone()
    for _ in range(calls):
        head.apply(AscensionCallback(margin=margin))
    return head.link.cutpoints.data


def falling(calls):
    orders = torch.rand(1000, 4, generator=torch.Generator().manual_seed(0))
    return sum(bool((after(order, calls).diff() < 0).any()) for order in orders)


cutpoints = " ".join(f"{value:g}" for value in after([3, 2, 1, 4]).tolist())
probabilities = " ".join(f"{value:.2f}" for value in head(torch.zeros(1, 1))[0].tolist())
print(
    f"spacecutter-torch {importlib.metadata.version('spacecutter-torch')}: 3 2 1 4 becomes {cutpoints},",
    f"probabilities {probabilities}; of 1000 orders fall {falling(1)}, {falling(2)}, {falling(3)}",
    "after 1, 2 and 3 calls",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spacecutter-torch 1.0.0: 3 2 1 4 becomes 2 1 1 4, probabilities 0.88 -0.15 0.00 0.25 0.02; of 1000\
 orders fall 581, 259, 0 after 1, 2 and 3 calls"
