#!/usr/bin/env bash
# `get_kl_loss` of bayesian-torch counts every LSTM twice, once as itself and once as the two layers inside of it.
#
# Guess before the run: `get_kl_loss(model)` adds up the divergences of the Bayesian layers of a model, each once.
# Seen: bayesian-torch 0.5.0. It adds `kl_loss` of every module that has one. An LSTM's is the sum of those of the two
# linear layers it is made of, and these are modules of the model, too: the sum is 20.25 for one LSTM whose own
# divergence is 10.13. In a model with an LSTM and a classifier over BERT's states the LSTM's prior is twice as strong
# as that of the classifier. A model that has linear layers only has the right sum.
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
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss

torch.manual_seed(0)
parameters = {
    "prior_mu": 0.0,
    "prior_sigma": 1.0,
    "posterior_mu_init": 0.0,
    "posterior_rho_init": -3.0,
    "type": "Reparameterization",
    "moped_enable": False,
    "moped_delta": 0.5,
}
words = []
for name, layer in (("LSTM", torch.nn.LSTM(8, 8)), ("linear layer", torch.nn.Linear(8, 8))):
    model = torch.nn.Sequential(layer)
    dnn_to_bnn(model, parameters)
    words.append(f"one {name} {get_kl_loss(model):.2f}, its own {model[0].kl_loss():.2f}")
print(f"bayesian-torch {importlib.metadata.version('bayesian-torch')}, sum of the model: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bayesian-torch 0.5.0, sum of the model: one LSTM 20.25, its own 10.13; one linear layer 5.12, its own\
 5.12"
