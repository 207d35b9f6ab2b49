#!/usr/bin/env bash
# With ten outputs the fit of a vbll regression counts a tenth of its uncertainty: the loss mixes means and sums.
#
# Guess before the run: the training loss of `Regression` with ten equal outputs is ten times that of one, as the
# negative log likelihood of ten independent targets is, and as its own validation loss is.
# Seen: vbll 0.4.9. The likelihood is a mean over the outputs, while the variance of each output is multiplied by the
# sum of the precisions of all outputs. For ten equal outputs the part of the fit is that of one, 1.48 instead of
# 14.77, and the part of the variances ten times that of one; the validation loss is ten times that of one. With a
# prior, whose divergence is a sum, too, ten scores of a text predicted over a BERT are fitted with the weight of one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    vbll==0.4.9
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from vbll.layers.regression import Regression


def layer(outputs, variance):
    """A layer whose outputs are all alike, with weights of almost no variance or some."""
    one = Regression(8, outputs, regularization_weight=0.0, parameterization="diagonal")
    with torch.no_grad():
        one.W_mean.copy_(torch.linspace(-1, 1, 8).expand(outputs, 8))
        one.W_logdiag.fill_(-20.0 if variance == 0 else 0.5 * torch.tensor(variance).log())
        one.noise_logdiag.fill_(0.0)
    return one


torch.manual_seed(0)
inputs = torch.randn(64, 8)
targets = inputs @ torch.linspace(-1, 1, 8)[:, None] + torch.randn(64, 1)
words = []
for outputs in (1, 10):
    many = targets.expand(64, outputs)
    fit = layer(outputs, 0)(inputs).train_loss_fn(many).item()
    both = layer(outputs, 0.1)(inputs)
    variance = both.train_loss_fn(many).item() - fit
    words.append(f"{outputs}: fit {fit:.2f}, variance {variance:.2f}, validation {both.val_loss_fn(many):.2f}")
print(f"vbll {importlib.metadata.version('vbll')}, losses by outputs: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "vbll 0.4.9, losses by outputs: 1: fit 1.48, variance 0.41, validation 1.54; 10: fit 1.48, variance\
 4.14, validation 15.44"
