#!/usr/bin/env bash
# `dnn_to_bnn` of bayesian-torch makes an LSTM read across the texts of a batch, and drops its second layer.
#
# Guess before the run: an `nn.LSTM` that `dnn_to_bnn` converts reads the words of a text one after the other, as
# before: PyTorch's default is [length, batch, units]; its two layers stay.
# Seen: bayesian-torch 0.5.0. The new LSTM takes the second axis for time, whatever `batch_first` is, and has one
# layer, whatever `num_layers` is; nothing is said. In a batch of four texts of six words, a change of the first word
# of the first text changes PyTorch's states of all words of this text. In the converted LSTM it changes the first word
# of all four texts, and no other word. With `batch_first=True` the axis is right, but the second layer is gone: half
# of the weights are left.
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
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn

parameters = {
    "prior_mu": 0.0,
    "prior_sigma": 1.0,
    "posterior_mu_init": 0.0,
    "posterior_rho_init": -50.0,
    "type": "Reparameterization",
    "moped_enable": False,
    "moped_delta": 0.5,
}


def reached(model, batch_first):
    """How many texts, and places of text 0, change if the first word of the first text does."""
    torch.manual_seed(1)
    words = torch.randn(6, 4, 8)
    other = words.clone()
    other[0, 0] += 1.0
    states = []
    for one in (words, other):
        torch.manual_seed(2)
        output = model(one.transpose(0, 1) if batch_first else one)[0]
        states.append(output.transpose(0, 1) if batch_first else output)
    changed = (states[0] - states[1]).abs().sum(-1) > 1e-6
    return f"{changed.any(0).sum()} texts, {changed[:, 0].sum()} of 6 words"


parts = []
for batch_first in (False, True):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.LSTM(8, 8, num_layers=2, batch_first=batch_first))
    before = sum(one.numel() for one in model.parameters())
    words = [f"batch_first={batch_first}: PyTorch {reached(model, batch_first)}"]
    dnn_to_bnn(model, parameters)
    model[0].ih.rho_weight.data.fill_(-50.0)
    after = sum(one.numel() for name, one in model.named_parameters() if "mu" in name)
    words.append(f"Bayesian {reached(model, batch_first)}, {after} of {before} weights")
    parts.append(", ".join(words))
print(f"bayesian-torch {importlib.metadata.version('bayesian-torch')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bayesian-torch 0.5.0, batch_first=False: PyTorch 1 texts, 6 of 6 words, Bayesian 4 texts, 1 of 6\
 words, 576 of 1152 weights; batch_first=True: PyTorch 1 texts, 6 of 6 words, Bayesian 1 texts, 6 of 6 words, 576 of\
 1152 weights"
