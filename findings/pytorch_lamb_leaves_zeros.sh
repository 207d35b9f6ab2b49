#!/usr/bin/env bash
# LAMB of pytorch-lamb never moves weights that begin at 0, as all biases of a BERT do; without gradients they are NaN.
#
# Guess before the run: biases and LoRA matrices that begin at 0 are learned, as the trust ratio is 1 where the norm of
# the weights or of the step is 0; a batch in which a layer has no gradient leaves the layer as it is.
# Seen: pytorch-lamb 1.0.0. The ratio is the norm of the weights over that of the step, whatever they are. The bias of a
# linear layer is exactly 0 after 200 steps, and the loss stays at what it is without a bias; with Adam, or from a bias
# of .001, it is learned. A first batch with gradients of 0, as of an expert or a head that no text of it uses, makes 0
# over 0 of them, and all weights of the layer are NaN from then on.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.14.1 tensorboardX==2.6.5 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    pytorch-lamb==1.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_lamb import Lamb

torch.manual_seed(0)
texts = torch.randn(256, 8)
scores = texts @ torch.randn(8, 1) + 3


def learned(make, start):
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 1)
    torch.nn.init.constant_(layer.bias, start)
    optimizer = make(layer.parameters(), lr=0.05)
    for _ in range(200):
        loss = torch.nn.functional.mse_loss(layer(texts), scores)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return f"bias {layer.bias.item():.2f}, loss {loss.item():.2f}"


words = [f"LAMB from 0 {learned(Lamb, 0.0)}", f"from .001 {learned(Lamb, 0.001)}"]
words.append(f"Adam from 0 {learned(torch.optim.Adam, 0.0)}")
layer = torch.nn.Linear(8, 1)
optimizer = Lamb(layer.parameters(), lr=0.05)
(0 * layer(texts).sum()).backward()
optimizer.step()
words.append(f"NaN after gradients of 0 {torch.isnan(layer.weight).sum().item()} of 8")
print(f"pytorch-lamb {importlib.metadata.version('pytorch-lamb')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-lamb 1.0.0: LAMB from 0 bias 0.00, loss 8.53; from .001 bias 2.85, loss 0.03; Adam from 0 bias\
 3.00, loss 0.00; NaN after gradients of 0 8 of 8"
