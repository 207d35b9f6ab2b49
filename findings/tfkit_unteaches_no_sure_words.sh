#!/usr/bin/env bash
# tfkit unteaches no word that a model is sure of: from a margin of 17 on its negative loss has no gradient at all.
#
# Guess before the run: the loss of negative targets is -log(1 - p): the surer a model is of a word that it is not to
# say, the stronger it is unlearned.
# Seen: tfkit 0.8.20. Up to a margin of 16 the gradient of the word's logit is 1. At 17 p is 1 in float32, 1 - p is held
# at 1e-32 by a clamp, and the gradient is 0; the loss is 73.68, whatever the margin is. Twenty steps with a rate of 1
# take a word with a margin of 16 to 0.07, and one with 17 stays at 1.00: what is to be unlearned most stays for good,
# and adds 73.68 to each loss that is reported.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.14.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tfkit==0.8.20
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import pathlib

import torch

# The file of the losses alone: the package imports tools for other things.
path = pathlib.Path(importlib.util.find_spec("tfkit").origin).parent / "utility" / "loss.py"
spec = importlib.util.spec_from_file_location("loss", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
loss = module.NegativeCElLoss(ignore_index=-1)
word = torch.tensor([0])
parts = []
for margin in (5.0, 15.0, 16.0, 17.0, 18.0):
    logits = torch.zeros(1, 3)
    logits[0, 0] = margin
    logits.requires_grad_()
    first = loss(logits, word)
    (gradient,) = torch.autograd.grad(first, logits)
    optimizer = torch.optim.SGD([logits], 1.0)
    for _ in range(20):
        optimizer.zero_grad()
        loss(logits, word).backward()
        optimizer.step()
    after = logits.softmax(1)[0, 0]
    parts.append(f"{margin:g} loss {first.item():.2f} gradient {gradient[0, 0]:.2f} then p {after:.2f}")
print(f"tfkit {importlib.metadata.version('tfkit')}, margin {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tfkit 0.8.20, margin 5 loss 4.32 gradient 0.99 then p 0.04, 15 loss 14.15 gradient 1.00 then p 0.06,\
 16 loss 15.25 gradient 1.00 then p 0.07, 17 loss 73.68 gradient 0.00 then p 1.00, 18 loss 73.68 gradient 0.00 then p\
 1.00"
