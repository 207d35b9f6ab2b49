#!/usr/bin/env bash
# One text that a bfloat16 model is sure of and wrong has a gradient of 100,000,000 in dlordinal's CDWCELoss.
#
# Guess before the run: the class distance weighted loss is a sum of -log(1 - p), so that no logit has a gradient above
# the sum of its weights, 1 for the class beside the right one, and a margin of 8 in the logits costs about 8.
# Seen: dlordinal 2.7.0. 1 - p is computed as a difference of exponentials plus 1e-8. In bfloat16 the difference of
# logits that are 8 apart is 0 (in float32 of those that are 18 apart): the loss is 26.4 instead of 7.3 and the
# gradients of the other classes are -1e8, so that one text is the whole step. Those of the wrong class, which should
# fall, are 0. In float16 the 1e-8 is 0 as well, and all is NaN from 12 on. In float64 all is as guessed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dlordinal==2.7.0 torch==2.14.1 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from dlordinal.losses import CDWCELoss

words = []
for name, margins in {"float64": (8, 18), "float32": (8, 18), "bfloat16": (4, 8), "float16": (8, 12)}.items():
    for margin in margins:
        logits = torch.tensor([[0.0, margin, 0.0]], dtype=getattr(torch, name), requires_grad=True)
        loss = CDWCELoss(num_classes=3)(logits, torch.tensor([0]))
        loss.backward()
        gradients = " ".join(f"{value:.2g}" for value in logits.grad[0].tolist())
        words.append(f"{name} {margin}: {loss.item():.1f} ({gradients})")
version = importlib.metadata.version("dlordinal")
print(f"dlordinal {version}, loss and gradients of a class that leads by: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dlordinal 2.7.0, loss and gradients of a class that leads by: float64 8: 7.3 (-0.5 1 -0.5); float64\
 18: 17.3 (-0.5 1 -0.5); float32 8: 7.3 (-0.5 1 -0.5); float32 18: 36.4 (-1e+08 0 -1e+08); bfloat16 4: 3.3 (-0.48 0.88\
 -0.46); bfloat16 8: 26.4 (-1e+08 0 -1e+08); float16 8: 7.3 (-0.5 1 -0.5); float16 12: nan (nan nan nan)"
