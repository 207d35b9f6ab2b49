#!/usr/bin/env bash
# The focal loss of focal-ce-loss is 0 where the right class has .37, and 6,307 for ten hard texts, not 6.8.
#
# Guess before the run: `FocalCELoss()`, whose page has `FL(p_t) = -alpha * (1 - p_t) ** gamma * log(p_t)`, falls while
# the right class gets likelier, and is the sum over the texts of a batch.
# Seen: focal-ce-loss 0.0.3, alpha .25, gamma 2. The cross entropy is taken for the probability: (1 - CE) ** 2 * CE. At
# a probability of .37, a cross entropy of 1, it is .000; at .88 it is .024, more than at .50 (.016), where the
# gradient pushes the score of the right class down, toward .37. The default is a sum over the batch first and the
# power after it: ten texts with a cross entropy of 3 have a loss of 6,307 (definition: 6.8), one has 3.0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    focal-ce-loss==0.0.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch

from focal_ce_loss import FocalCELoss

words = []
for probability in (0.99, 0.88, 0.5, 0.37, 0.27):
    score = torch.logit(torch.tensor(probability)).requires_grad_()
    loss = FocalCELoss()(torch.stack([score, torch.tensor(0.0)])[None], torch.tensor([0]))
    loss.backward()
    words.append(f"{probability} {loss.item():.3f} {score.grad.item():+.3f}")
hard = torch.tensor([[-2.9488, 0.0]])
labels = torch.zeros(10, dtype=torch.long)
sums = [FocalCELoss()(hard.repeat(n, 1), labels[:n]).item() for n in (1, 10)]
right = hard.softmax(1)[0, 0]
defined = -10 * 0.25 * (1 - right) ** 2 * right.log()
print(
    f"focal-ce-loss {importlib.metadata.version('focal-ce-loss')}: probability, loss and gradient {', '.join(words)};",
    f"one hard text {sums[0]:.1f}, ten {sums[1]:.0f}, by definition {defined:.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "focal-ce-loss 0.0.3: probability, loss and gradient 0.99 0.002 -0.002, 0.88 0.024 -0.016, 0.5 0.016\
 +0.041, 0.37 0.000 +0.002, 0.27 0.031 -0.165; one hard text 3.0, ten 6307, by definition 6.8"
