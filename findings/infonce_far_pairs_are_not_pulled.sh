#!/usr/bin/env bash
# Texts of one class that are far apart stay so with infonce: each text counts as a pair with itself, of cosine 0.
#
# Guess before the run: the supervised InfoNCE loss is 0 or more, and the farther apart two texts of a class are the
# harder they are pulled together, which is what it is for.
# Seen: infonce 0.3, PyTorch 2.13.0. Of two texts with a cosine of -.5 the gradient by the angle is .005, where it is
# 6.2 by Khosla's formula; at 0 it is 3.6. In the mask of positives a text's own place is 0, and 0 is neither -1,000 nor
# dropped: its e^0 is in the sums of positives and of negatives, as a pair whose cosine is 0, and a positive that is
# farther than that drowns in it, as at a temperature of .07 e^-7.1 does. The loss is below 0, -13.2 for perfect pairs,
# as its denominator has no positives.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    infonce==0.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math

import torch
from infonce import SupervisedInfoNCE


def khosla(vectors, labels, temperature=0.07):
    size = len(labels)
    own = torch.eye(size, dtype=torch.bool)
    scores = (vectors @ vectors.T / temperature).masked_fill(own, -torch.inf)
    positive = (labels[:, None] == labels) & ~own
    return -(scores.log_softmax(-1).masked_fill(~positive, 0).sum(-1) / positive.sum(-1)).mean()


labels = torch.tensor([0, 0, 1, 1])
parts = []
for cosine in (-0.5, 0.0, 0.5, 1.0):
    words = []
    for loss_function in (SupervisedInfoNCE(temperature=0.07), khosla):
        angle = torch.tensor(math.acos(cosine), requires_grad=True)
        # The first class has two vectors of a plane, and the second twice the vector that is upright to it.
        turned = torch.stack([angle.cos(), angle.sin(), torch.zeros(())])
        loss = loss_function(torch.stack([torch.eye(3)[0], turned, torch.eye(3)[2], torch.eye(3)[2]]), labels)
        loss.backward()
        words.append(f"{abs(float(angle.grad)):.1f}")
    parts.append(f"cosine {cosine:.1f} {words[0]} ({words[1]})")
best = SupervisedInfoNCE()(torch.eye(3)[[0, 0, 2, 2]], labels)
version = importlib.metadata.version("infonce")
print(f"infonce {version}, gradient by the angle (by Khosla's formula): {'; '.join(parts)}; least loss {best:.1f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "infonce 0.3, gradient by the angle (by Khosla's formula): cosine -0.5 0.0 (6.2); cosine 0.0 3.6 (4.8);\
 cosine 0.5 6.2 (0.0); cosine 1.0 0.0 (0.0); least loss -13.2"
