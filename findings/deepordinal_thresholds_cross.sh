#!/usr/bin/env bash
# A rating that is rare in training gets a probability of -.94 in deepordinal: its "sorted" thresholds cross.
#
# Guess before the run: `OrdinalOutput`, "via learned, sorted thresholds", gives each of five ratings a probability of 0
# or more, also where few texts have the middle one.
# Seen: deepordinal 0.2.1.post1 on PyTorch. The thresholds are sorted when they are made, and are free after that. Where
# 2 % of the texts with three stars are left in the training set, the thresholds on both sides of it cross, because that
# makes its neighbours likelier: the probability of three stars is -.94, and those of the others add up to 1.94, with
# the cross entropy and with `ordinal_loss(construction="immediate")` of the package. The sum is 1, so that no check of
# it tells. Cross entropy is NaN without a clip. With as many texts for each rating none is negative, and with
# construction "all" none is in either case.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    deepordinal==0.2.1.post1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from deepordinal.torch import OrdinalOutput, ordinal_loss

torch.manual_seed(0)
x = torch.randn(500, 4)
z = x[:, 0] + 0.3 * torch.randn(500)
stars = torch.bucketize(z, torch.quantile(z, torch.tensor([0.2, 0.4, 0.6, 0.8])))
rare = (stars != 2) | (torch.rand(500) < 0.02)


def smallest(name, keep):
    torch.manual_seed(0)
    layer = OrdinalOutput(4, 5)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(1500):
        optimizer.zero_grad()
        if name == "cross entropy":
            loss = torch.nn.functional.nll_loss(torch.log(layer(x[keep]).clamp_min(1e-7)), stars[keep])
        else:
            loss = ordinal_loss(layer.linear(x[keep]), stars[keep], layer.interior_thresholds, construction=name)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        probabilities = layer(x)
    return f"{probabilities.min() + 0.0:.2f}, sum {probabilities.sum(1).mean():.2f}"


parts = []
for name in ("cross entropy", "immediate", "all"):
    parts.append(f"{name} {smallest(name, torch.ones_like(rare))}; three stars rare {smallest(name, rare)}")
version = importlib.metadata.version("deepordinal")
print(f"deepordinal {version}, smallest probability, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepordinal 0.2.1.post1, smallest probability, cross entropy 0.00, sum 1.00; three stars rare -0.94,\
 sum 1.00; immediate 0.00, sum 1.00; three stars rare -0.94, sum 1.00; all 0.00, sum 1.00; three stars rare 0.00, sum\
 1.00"
