#!/usr/bin/env bash
# The masked loss of Avalanche is NaN if a model is surely right about one text: from a margin of 18 in float16.
#
# Guess before the run: `MaskedCrossEntropy`, the loss of Avalanche's learners with growing classes, is PyTorch's
# `cross_entropy` where all classes are seen, for sure texts, too.
# Seen: Avalanche 0.6.0. It takes the logarithm of a softmax, whose smallest probabilities are 0, and multiplies minus
# infinity by the 0 of a wrong class. One such text in a batch makes the loss and all gradients NaN. In float32 that is
# so from a margin of 104 on, in bfloat16 from 93, in float16 from 18, which a fine-tuned BERT has. PyTorch's loss of
# the same two texts is .28.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    avalanche-lib==0.6.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from avalanche.training.losses import MaskedCrossEntropy

words = []
criterion = MaskedCrossEntropy(classes=[0, 1, 2], mask="new")
labels = torch.tensor([0, 1])
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    for margin in range(1, 200):
        logits = torch.tensor([[margin, 0, 0], [0, 1, 0]], dtype=dtype, requires_grad=True)
        loss = criterion(logits, labels)
        if not torch.isfinite(loss):
            break
    loss.backward()
    right = torch.nn.functional.cross_entropy(logits, labels)
    bad = int(logits.grad.isnan().any(dim=1).sum())
    words.append(f"{str(dtype)[6:]} from {margin} on {loss:.2f}, {bad} of 2 texts with NaN, PyTorch {right:.2f}")
print(f"avalanche {importlib.metadata.version('avalanche-lib')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "avalanche 0.6.0: float32 from 104 on nan, 1 of 2 texts with NaN, PyTorch 0.28; bfloat16 from 93 on\
 nan, 1 of 2 texts with NaN, PyTorch 0.28; float16 from 18 on nan, 1 of 2 texts with NaN, PyTorch 0.28"
