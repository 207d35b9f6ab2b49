#!/usr/bin/env bash
# The prior of blitz, N(0, .1), pulls a weight of .5 back with a force of 47, one of .6 with 3 and one of 1 with none.
#
# Guess before the run: the loss of `BayesianLinear` with its prior N(0, .1) has a gradient of w / .01 for a weight w,
# which grows with the weight; the second deviation of the prior, .4, holds what the first one lets go.
# Seen: blitz-bayesian-pytorch 0.2.8. To the density 1e-6 is added before the logarithm: beyond .55 the prior is flat,
# and the larger a weight is the less it is held. The second deviation has the share 1 - prior_pi, which is 0 by
# default; with prior_pi=.5 the gradient at 1 is 6.25, that of .4. A weight that has grown beyond .55 once is held by
# nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    blitz-bayesian-pytorch==0.2.8 torch==2.14.1 torchvision==0.29.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from blitz.modules import BayesianLinear


def force(weight, share):
    layer = BayesianLinear(1, 1, bias=False, posterior_rho_init=-20.0, prior_pi=share)
    layer.weight_sampler.mu.data.fill_(weight)
    layer(torch.ones(1, 1))
    (-layer.log_prior).backward()
    return f"{layer.weight_sampler.mu.grad.item():.2f}"


parts = [
    f"{weight}: {force(weight, 1)} ({weight / 0.01:.0f}), {force(weight, 0.5)}"
    for weight in (0.1, 0.3, 0.5, 0.6, 0.7, 1.0)
]
version = importlib.metadata.version("blitz-bayesian-pytorch")
print(f"blitz {version}, gradient of the prior (of a normal one), with two parts, at {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "blitz 0.2.8, gradient of the prior (of a normal one), with two parts, at 0.1: 10.00 (10), 7.32; 0.3:\
 30.00 (30), 3.44; 0.5: 46.85 (50), 3.13; 0.6: 3.44 (60), 3.75; 0.7: 0.01 (70), 4.37; 1.0: 0.00 (100), 6.25"
