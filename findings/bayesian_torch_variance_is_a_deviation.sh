#!/usr/bin/env bash
# `prior_variance` of bayesian-torch, "variance of the prior", is its standard deviation: .01 is a variance of .0001.
#
# Guess before the run: `LinearReparameterization(..., prior_variance=0.01)` has a normal prior with a standard
# deviation of .1.
# Seen: bayesian-torch 0.5.0. The divergence of the layer is that from a prior with a deviation of .01: the number is
# used as the deviation, in both of its linear layers, though the page of each calls it a variance. Weights of .05 and
# a deviation of .05, usual for a layer over BERT, have a divergence of .44 per weight from N(0, .01), and 22.89 in
# bayesian-torch: with a variance below 1 the prior is narrower than asked for, with one above 1 wider.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bayesian-torch==0.5.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math

import torch
from bayesian_torch.layers import LinearFlipout, LinearReparameterization
from torch.distributions import Normal, kl_divergence

parts = []
for kind in (LinearReparameterization, LinearFlipout):
    layer = kind(768, 2, prior_mean=0.0, prior_variance=0.01, bias=False)
    layer.mu_weight.data.fill_(0.05)
    layer.rho_weight.data.fill_(math.log(math.expm1(0.05)))
    parts.append(f"{kind.__name__} {layer.kl_loss():.2f}")
for name, deviation in (("a variance", 0.1), ("a deviation", 0.01)):
    value = kl_divergence(Normal(0.05, 0.05), Normal(0.0, deviation))
    parts.append(f"with {name} of .01 {value:.2f}")
version = importlib.metadata.version("bayesian-torch")
print(f"bayesian-torch {version}, divergence per weight: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bayesian-torch 0.5.0, divergence per weight: LinearReparameterization 22.89, LinearFlipout 22.89,\
 with a variance of .01 0.44, with a deviation of .01 22.89"
