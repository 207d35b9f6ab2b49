#!/usr/bin/env bash
# In float16 the focal loss of balanced-loss is .17 for a text that is surely wrong, and 11.17 for one less so.
#
# Guess before the run: with logits from a float16 classifier the focal loss rises with the logit of the error, as it
# does in float32: -5, -11, -12 and -20 for the right class cost about as much, and none has a gradient above 2.
# Seen: balanced-loss 0.1.1. Beyond -11 exp(-logit) is infinite in float16, and the factor of the error, which should be
# 1, becomes 0: the text costs nothing, .17 is of the other class, and its gradient is NaN. In float32 and bfloat16 this
# happens from -89 on. PyTorch's own cross entropy, and `loss_type="binary_cross_entropy"`, are right in float16.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    balanced-loss==0.1.1 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from balanced_loss import Loss

words = []
for name in ("float32", "float16"):
    parts = []
    for value in (-5, -11, -12, -20):
        logits = torch.tensor([[value, 0.0]], dtype=getattr(torch, name), requires_grad=True)
        losses = [Loss(kind)(logits, torch.tensor([0])) for kind in ("focal_loss", "binary_cross_entropy")]
        losses[0].backward()
        parts.append(f"{value}: {losses[0].item():.2f} ({logits.grad[0, 0].item():.1f}), {2 * losses[1].item():.2f}")
    words.append(f"{name} {', '.join(parts)}")
version = importlib.metadata.version("balanced-loss")
print(f"balanced-loss {version}, focal loss (gradient), binary cross entropy of a logit of {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "balanced-loss 0.1.1, focal loss (gradient), binary cross entropy of a logit of float32 -5: 5.11\
 (-1.0), 5.70, -11: 11.17 (-1.0), 11.69, -12: 12.17 (-1.0), 12.69, -20: 20.17 (-1.0), 20.69; float16 -5: 5.10 (-1.0),\
 5.70, -11: 11.17 (-1.0), 11.69, -12: 0.17 (nan), 12.69, -20: 0.17 (nan), 20.69"
