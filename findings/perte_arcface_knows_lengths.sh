#!/usr/bin/env bash
# ArcFace of the package perte doesn't normalize its class vectors: a class that is longer is likelier, at any angle.
#
# Guess before the run: `AngularPenaltySMLoss("arcface", ...)` compares a text's vector with those of the classes by
# the cosine, so that the lengths of both count for nothing.
# Seen: perte 0.1.3. The length of the text's vector counts for nothing. The loop that normalizes the class vectors
# gives its result to a name and no weight: if all of them are doubled the loss of the same texts changes (ArcFace
# 17.26 to 22.17, CosFace 17.68 to 23.20; by definition nothing). A "cosine" above 1 is cut, so that a class of length
# 3 whose vector is the text's has no gradient at all.
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
from perte import AngularPenaltySMLoss

words = []
for kind in ("arcface", "cosface", "sphereface"):
    torch.manual_seed(0)
    loss = AngularPenaltySMLoss(kind, 4, 3)
    texts, labels = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
    values = [loss(texts, labels).item(), loss(texts * 2, labels).item()]
    loss.fc.weight.data *= 2
    values.append(loss(texts, labels).item())
    words.append(f"{kind} {values[0]:.2f}, texts doubled {values[1]:.2f}, classes doubled {values[2]:.2f};")
loss = AngularPenaltySMLoss("arcface", 2, 2)
loss.fc.weight.data = torch.tensor([[3.0, 0.0], [0.0, 3.0]])
text = torch.tensor([[1.0, 0.2]], requires_grad=True)
loss(text, torch.tensor([0])).backward()
own = loss.fc.weight.grad[0].abs().max().item()
print(f"perte {importlib.metadata.version('perte')}:", *words, f"gradient of a class of length 3 {own:.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "perte 0.1.3: arcface 17.26, texts doubled 17.26, classes doubled 22.17; cosface 17.68, texts doubled\
 17.68, classes doubled 23.20; sphereface 20.27, texts doubled 20.27, classes doubled 24.41; gradient of a class of\
 length 3 0.00"
