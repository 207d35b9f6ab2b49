#!/usr/bin/env bash
# The KL term of bayesian-torch is a mean over weights: a BERT's classifier is held by its prior 1,000 times too weakly.
#
# Guess before the run: `get_kl_loss` of a Bayesian layer is the Kullback-Leibler divergence of all its weights from
# the prior, as in the evidence lower bound, which the page's `loss = ce_loss + kl / args.batch_size` then divides.
# Seen: bayesian-torch 0.5.0. It is the mean over the kernel plus the mean over the bias, of LinearReparameterization
# and LinearFlipout alike. For a classifier of 768 units and 2 classes that is 4.94, where torch.distributions has
# 3,899; a bias of 2 numbers counts as much as the 1,536 of the kernel. The wider a layer is, the weaker is its prior:
# 5.09 for 3,072 units, where 15,560 is right.
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

import torch
from bayesian_torch.layers import LinearFlipout, LinearReparameterization
from bayesian_torch.models.dnn_to_bnn import get_kl_loss
from torch.distributions import Normal, kl_divergence


def compare(kind, units):
    torch.manual_seed(0)
    layer = kind(units, 2, prior_mean=0.0, prior_variance=1.0)
    right = []
    for name in ("weight", "bias"):
        deviation = torch.nn.functional.softplus(getattr(layer, f"rho_{name}"))
        right.append(kl_divergence(Normal(getattr(layer, f"mu_{name}"), deviation), Normal(0.0, 1.0)))
    return f"{get_kl_loss(layer):.2f} of {right[0].sum() + right[1].sum():.0f} (bias {right[1].sum():.2f})"


version = importlib.metadata.version("bayesian-torch")
cases = [(LinearReparameterization, 768), (LinearFlipout, 768), (LinearReparameterization, 3072)]
words = [f"{kind.__name__} of {units} units {compare(kind, units)}" for kind, units in cases]
print(f"bayesian-torch {version}, divergence: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bayesian-torch 0.5.0, divergence: LinearReparameterization of 768 units 4.94 of 3899 (bias 4.82);\
 LinearFlipout of 768 units 4.94 of 3899 (bias 4.82); LinearReparameterization of 3072 units 5.09 of 15560 (bias\
 5.12)"
