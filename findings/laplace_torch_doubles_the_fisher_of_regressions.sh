#!/usr/bin/env bash
# The empirical Fisher of a regression is doubled in laplace-torch: intervals are too narrow by the root of 2.
#
# Guess before the run: with the empirical Fisher (`CurvlinopsEF`) the curvature of a linear regression is the sum of
# squared residuals times squared inputs, which, with a noise of 1, is near to the exact one that GGN has.
# Seen: laplace-torch 0.3. It is twice as large, full and diagonal, with both of its implementations tried: gradients
# are those of the squared error, 2 times the residual, and their squares are multiplied by the factor .5 that belongs
# to one of them. So with a weak prior standard deviations of weights are .71 of the right ones. GGN has the right
# curvature.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 tqdm==4.70.1 opt-einsum==3.4.0 torchmetrics==1.9.0 einops==0.8.2 \
    einconv==0.1.0 linear-operator==0.6.1 unfoldnd==0.2.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    laplace-torch==0.3 curvlinops-for-pytorch==3.0.1 backpack-for-pytorch==1.7.1 asdfghjkl==0.1a4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from laplace import Laplace
from laplace.curvature import CurvlinopsEF, CurvlinopsGGN, EFInterface
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
inputs = torch.randn(2000, 3)
targets = inputs @ torch.tensor([[1.0], [2.0], [3.0]]) + torch.randn(2000, 1)
model = torch.nn.Sequential(torch.nn.Linear(3, 1, bias=False))
model[0].weight.data = torch.linalg.lstsq(inputs, targets).solution.T.clone()
residuals = targets - model(inputs).detach()
right = (residuals * inputs).pow(2).sum(0)


def show(values):
    return " ".join(f"{one:.0f}" for one in values)


words = [f"right {show(right)}, exact {show(inputs.pow(2).sum(0))}"]
for backend in (EFInterface, CurvlinopsEF, CurvlinopsGGN):
    for structure in ("full", "diag"):
        laplace = Laplace(model, "regression", "all", structure, backend=backend, prior_precision=1e-4)
        laplace.fit(DataLoader(TensorDataset(inputs, targets), batch_size=100))
        curvature = laplace.H if structure == "diag" else laplace.H.diag()
        ratio = (laplace.posterior_variance if structure == "diag" else laplace.posterior_covariance.diag()) * right
        words.append(f"{backend.__name__} {structure} {show(curvature)}, deviations {ratio.mean().sqrt():.2f}")
print(f"laplace-torch {importlib.metadata.version('laplace-torch')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "laplace-torch 0.3: right 1942 2012 2100, exact 1973 1989 2022; EFInterface full 3884 4023 4200,\
 deviations 0.71; EFInterface diag 3884 4023 4200, deviations 0.71; CurvlinopsEF full 3884 4023 4200, deviations\
 0.71; CurvlinopsEF diag 3884 4023 4200, deviations 0.71; CurvlinopsGGN full 1973 1989 2022, deviations 1.01;\
 CurvlinopsGGN diag 1973 1989 2022, deviations 1.01"
