#!/usr/bin/env bash
# The Dice loss of GLiNER makes a sure false entity its cheapest negative, and wants .5 for each true entity.
#
# Guess before the run: with `loss_type="dice"` the loss of a span that is an entity falls with its score, and that of
# one that is none rises with it.
# Seen: gliner 0.2.29, gamma=1 and eps=1e-6, its defaults. An entity costs 1.00 at a logit of 8, as at -8, and least at
# 0, a probability of .5, where it costs .60: what is surely right is pulled back. A span that is no entity costs 1.00
# between -8 and 8 and .11 at 16, where it is surely wrong: its probability is weighed by one minus itself, so that 0
# and 1 are the same. 300 steps on a true and a false span from logits of 2 and 9 end at 0.0 and 17.0: the false one has
# become surer. The focal loss, the default, ends at 4.0 and -1.0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gliner==0.2.29 transformers==4.57.6 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from gliner.modeling.loss_functions import focal_loss_with_logits, span_dice_loss

logits = torch.tensor([-16.0, -8.0, 0.0, 8.0, 16.0])
parts = []
for name, labels in (("entity", torch.ones(5)), ("none", torch.zeros(5))):
    parts.append(name + " " + " ".join(f"{value:.2f}" for value in span_dice_loss(logits, labels).tolist()))
for loss in (span_dice_loss, focal_loss_with_logits):
    scores = torch.tensor([2.0, 9.0], requires_grad=True)
    optimizer = torch.optim.Adam([scores], 0.05)
    for _ in range(300):
        optimizer.zero_grad()
        loss(scores, torch.tensor([1.0, 0.0]), reduction="sum").backward()
        optimizer.step()
    parts.append(f"{loss.__name__} ends at {scores[0]:.1f} {scores[1]:.1f}".replace("-0.0", "0.0"))
print(f"gliner {importlib.metadata.version('gliner')}, logits -16 to 16: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "gliner 0.2.29, logits -16 to 16: entity 1.00 1.00 0.60 1.00 1.00; none 0.10 1.00 1.00 1.00 0.11; span_\
dice_loss ends at 0.0 17.0; focal_loss_with_logits ends at 4.0 -1.0"
