#!/usr/bin/env bash
# The focal loss of the package perte weighs whole batches, not texts: a hard text among easy ones counts for little.
#
# Guess before the run: `FocalLoss(gamma=2)` gives each text its own weight, (1 - p) squared, and the mean of that;
# with `reduction="none"` it returns a loss for each text.
# Seen: perte 0.1.3. The mean of the cross entropies comes first, and the weight is made of that mean. Of 16 texts one
# is wrong by a score of 4 and 15 right by 4: its loss should be .242, and it is .015, 16 times too little. The
# gradient of the hard text is .0093 instead of .0679, and an easy one, which focal loss is to silence, has .000171
# instead of .000001. "none" returns the one number.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    perte==0.1.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torch.nn.functional as F
from perte import FocalLoss


def by_definition(scores, labels):
    losses = F.cross_entropy(scores, labels, reduction="none")
    return ((1 - torch.exp(-losses)) ** 2 * losses).mean()


def seen(function):
    scores = torch.tensor([[-4.0, 0.0]] + [[4.0, 0.0]] * 15, requires_grad=True)
    loss = function(scores, torch.zeros(16, dtype=torch.long))
    loss.backward()
    hard, easy = scores.grad[0, 0].abs().item(), scores.grad[1, 0].abs().item()
    return f"loss {loss.item():.3f}, gradient of the hard text {hard:.4f} and of an easy one {easy:.6f}"


shape = list(FocalLoss(2.0, reduction="none")(torch.zeros(16, 2), torch.zeros(16, dtype=torch.long)).shape)
print(
    f"perte {importlib.metadata.version('perte')}: {seen(FocalLoss(2.0))};",
    f"by definition {seen(by_definition)}; shape of none {shape}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "perte 0.1.3: loss 0.015, gradient of the hard text 0.0093 and of an easy one 0.000171; by definition\
 loss 0.242, gradient of the hard text 0.0679 and of an easy one 0.000001; shape of none []"
