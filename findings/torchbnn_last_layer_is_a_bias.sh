#!/usr/bin/env bash
# `last_layer_only=True` of torchbnn's BKLLoss is the divergence of the last layer's bias: its weights are left free.
#
# Guess before the run: with `last_layer_only` the Bayesian loss is the divergence of all that the last layer holds, its
# 48 weights and 3 biases, and `reduction="mean"` is its mean per number.
# Seen: torchbnn 1.2. It is that of the 3 biases, 2.00 where the layer has 39.26, and a sum for both reductions. No
# weight has a gradient from it. Without a bias it is that of the weights. So a Bayesian head on a BERT that is trained
# with it is not regularized at all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchbnn==1.2 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torchbnn

torch.manual_seed(0)
head = torch.nn.Sequential(
    torchbnn.BayesLinear(0, 0.1, 16, 16), torch.nn.ReLU(), torchbnn.BayesLinear(0, 0.1, 16, 3)
)
last = head[2]


def divergence(mean, log_sigma):
    """Of normal distributions from one with the mean 0 and the deviation .1, in closed form."""
    normal, prior = torch.distributions.Normal(mean, log_sigma.exp()), torch.distributions.Normal(0.0, 0.1)
    return torch.distributions.kl_divergence(normal, prior).sum().item()


weights = divergence(last.weight_mu, last.weight_log_sigma)
bias = divergence(last.bias_mu, last.bias_log_sigma)
values = [torchbnn.BKLLoss(reduction=kind, last_layer_only=True)(head) for kind in ("mean", "sum")]
values[0].backward()
print(
    f"torchbnn {importlib.metadata.version('torchbnn')}: weights {weights:.2f} and bias {bias:.2f};",
    f"mean of the last layer {values[0].item():.2f}, sum {values[1].item():.2f};",
    f"gradient of its weights {last.weight_mu.grad}, of its bias {last.bias_mu.grad.abs().sum().item():.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchbnn 1.2: weights 37.26 and bias 2.00; mean of the last layer 2.00, sum 2.00; gradient of its\
 weights None, of its bias 24.9"
