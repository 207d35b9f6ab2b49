#!/usr/bin/env bash
# A higher temperature makes RankNet of lightning-ir sharper, all its other losses smoother, and one of them ignores it.
#
# Guess before the run: the option "temperature" of the losses divides scores, as it does in the package's ApproxMRR
# and in other packages' losses; RankNet at 0.1 is sure of a right order by 2 and 3, at 10 nearly undecided.
# Seen: lightning-ir 0.0.6 with torch 2.13.0. RankNet multiplies by it: .576 at 0.1 and .000 at 10, where division
# gives .000 and .576. ContrastiveLocalLoss, which MVR pushes its vectors apart with, has .170 at each temperature, for
# .000 and .940; 0.1 trains no other model than 10. So to change the loss of a configuration turns its temperature
# round.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 lightning==2.6.6 ir_measures==0.4.3 pandas==3.1.1 \
    numpy==2.4.6 ir_datasets==0.6.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lightning-ir==0.0.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
from types import SimpleNamespace

import torch
from lightning_ir.loss.approximate import ApproxMRR
from lightning_ir.loss.embedding import ContrastiveLocalLoss
from lightning_ir.loss.pairwise import RankNet

scores = torch.tensor([[0.0, 1.0, 3.0]])
batch = SimpleNamespace(targets=torch.tensor([[0, 0, 1]]))
output = SimpleNamespace(scores=scores, similarity=scores)
parts = []
for temperature in (0.1, 1, 10):
    approximate = ApproxMRR(temperature).compute_loss(output, batch).item()
    pairs = RankNet(temperature).compute_loss(output, batch).item()
    local = ContrastiveLocalLoss(temperature).compute_loss(output).item()
    difference = scores[0, 2] - scores[0, :2]
    right_pairs = torch.nn.functional.softplus(-difference / temperature).mean().item()
    right_local = torch.nn.functional.cross_entropy(scores / temperature, torch.tensor([2])).item()
    words = f"RankNet {pairs:.3f} {right_pairs:.3f}, local {local:.3f} {right_local:.3f}"
    parts.append(f"{temperature} MRR {approximate:.3f}, {words}")
print(f"lightning-ir {importlib.metadata.version('lightning-ir')}, losses and divided by it: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lightning-ir 0.0.6, losses and divided by it: 0.1 MRR 0.000, RankNet 0.576 0.000, local 0.170 0.000; 1\
 MRR 0.143, RankNet 0.088 0.088, local 0.170 0.170; 10 MRR 0.467, RankNet 0.000 0.576, local 0.170\
 0.940"
