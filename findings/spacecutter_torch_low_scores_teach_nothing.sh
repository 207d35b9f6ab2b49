#!/usr/bin/env bash
# A review that is rated far too low teaches nothing in spacecutter-torch: at a score of -20 its gradient is zero.
#
# Guess before the run: the loss of `CumulativeLinkLoss` for a 3-star review grows with the distance of its score from
# the middle, to both sides alike, and so does the pull back.
# Seen: spacecutter-torch 1.0.0. Five classes. Scores of 16 to both sides pull with 1.00. At 20 and 25 it is 1.00 as
# well, but at -20 and -25 it is 0.00, and the loss stands still at 34.54: the probability is a difference of two
# numbers near 1, which is 0 in float32, and the clamp at 1e-15 has no gradient there. A BERT whose scores run away
# downward stays there, one upward comes back.
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
from spacecutter.losses import CumulativeLinkLoss
from spacecutter.models import OrdinalLogisticHead

head = OrdinalLogisticHead(5)
words = []
for value in (-25.0, -20.0, -16.0, 16.0, 20.0, 25.0):
    score = torch.tensor([[value]], requires_grad=True)
    loss = CumulativeLinkLoss()(head(score), torch.tensor([[2]]))
    loss.backward()
    words.append(f"{value:g}: {loss.item():.2f} {score.grad.item() + 0.0:.2f}")
print(
    f"spacecutter-torch {importlib.metadata.version('spacecutter-torch')}:",
    f"score, loss and gradient of a 3-star review {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spacecutter-torch 1.0.0: score, loss and gradient of a 3-star review -25: 34.54 0.00, -20: 34.54\
 0.00, -16: 15.25 -1.00, 16: 16.46 1.00, 20: 20.46 1.00, 25: 25.46 1.00"
