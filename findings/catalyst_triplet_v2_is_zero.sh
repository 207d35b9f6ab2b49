#!/usr/bin/env bash
# The triplet loss TripletLossV2 of Catalyst is 0 for any vectors and labels: a sentence encoder learns nothing from it.
#
# Guess before the run: it is the mean of the losses above 0 of all triplets of a batch, of cosine distances with a
# margin of .3, so that it is near the margin at first, as vectors are random.
# Seen: catalyst 22.4. It leaves out all triplets but those of labels below -1, which are for classes marked as
# negative, and labels are 0 and up: the loss is 0.00 and all gradients are 0, at each margin. By the formula without
# that mask it is 0.24, 0.35 and 0.99 at margins of .1, .3 and 1, of 64 random vectors in 8 classes. A loss of 0 is
# taken for an encoder that is perfect: no error and no warning says that nothing is compared.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    catalyst==22.4 torch==2.14.1 numpy==2.4.6 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from catalyst.contrib.losses import TripletLossV2

torch.manual_seed(0)
labels = torch.arange(8).repeat(8)


def formula(vectors, margin):
    """The mean of the losses above 0 of all triplets of anchor, positive and negative."""
    unit = torch.nn.functional.normalize(vectors)
    distances = 1 - unit @ unit.T
    same = labels[:, None] == labels
    pairs = same & ~torch.eye(len(labels), dtype=torch.bool)
    losses = (distances[:, :, None] - distances[:, None, :] + margin)[pairs[:, :, None] & ~same[:, None, :]]
    return losses[losses > 0].mean()


parts = []
for margin in (0.1, 0.3, 1.0):
    vectors = torch.randn(64, 32, requires_grad=True)
    loss = TripletLossV2(margin=margin)(vectors, labels)
    loss.backward()
    parts.append(
        f"margin {margin:g}: {loss.item():.2f}, gradient {vectors.grad.abs().max():.2f}, formula"
        f" {formula(vectors, margin).item():.2f}"
    )
print(f"catalyst {importlib.metadata.version('catalyst')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catalyst 22.4, margin 0.1: 0.00, gradient 0.00, formula 0.24; margin 0.3: 0.00, gradient 0.00, formula\
 0.35; margin 1: 0.00, gradient 0.00, formula 0.99"
