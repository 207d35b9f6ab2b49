#!/usr/bin/env bash
# CrossEntropyFocalLoss of pytorch-toolbelt is no cross entropy: 5 more on all logits make 20.33 of 5.27.
#
# Guess before the run: with gamma=0 it is the cross entropy of a softmax; ignored words are left out of the mean, as in
# PyTorch; `reduced_threshold` keeps the weight of hard examples at 1 and lowers that of easy ones.
# Seen: pytorch-toolbelt 0.8.0. The loss is a sum of one binary cross entropy for each class, weighted by a softmax:
# 5.27 for 2.80 at gamma=0, and 20.33 if 5 is added to all logits, which changes no softmax. With 48 of 64 words ignored
# it is a quarter of that of the 16 alone. With `reduced_threshold=.5` easy and hard are swapped: a text that is surely
# right costs 0.74 in place of 0.00, and one that is surely wrong 13.58 for 3.40. BinaryFocalLoss of the same package
# reads it rightly.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-toolbelt==0.8.0 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_toolbelt.losses import CrossEntropyFocalLoss

torch.manual_seed(0)
logits, labels = 2 * torch.randn(64, 5), torch.randint(0, 5, (64,))
plain = torch.nn.functional.cross_entropy
focal = CrossEntropyFocalLoss(gamma=0.0)
parts = [f"gamma 0 {focal(logits, labels):.2f} ({plain(logits, labels):.2f})"]
parts.append(f"5 added to all logits {focal(logits + 5, labels):.2f} ({plain(logits + 5, labels):.2f})")
padded = torch.where(torch.arange(64) < 16, labels, -100)
parts.append(f"48 of 64 ignored {focal(logits, padded):.2f}, the 16 alone {focal(logits[:16], labels[:16]):.2f}")
for threshold in (None, 0.5):
    reduced = CrossEntropyFocalLoss(gamma=2.0, reduced_threshold=threshold)
    easy, hard = (reduced(torch.tensor([[value, 0.0]]), torch.tensor([0])) for value in (3.0, -3.0))
    parts.append(f"threshold {threshold}: sure and right {easy:.2f}, sure and wrong {hard:.2f}")
print(f"pytorch-toolbelt {importlib.metadata.version('pytorch-toolbelt')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-toolbelt 0.8.0: gamma 0 5.27 (2.80), 5 added to all logits 20.33 (2.80), 48 of 64 ignored\
 1.26, the 16 alone 5.03, threshold None: sure and right 0.00, sure and wrong 3.40, threshold 0.5: sure and right\
 0.74, sure and wrong 13.58"
