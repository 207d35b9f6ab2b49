#!/usr/bin/env bash
# `forward_eval` of ema-pytorch runs the averaged model with dropout, so that its predictions are others in each call.
#
# Guess before the run: `EMA.forward_eval(x)` of an averaged model does what its name says, it switches dropout off and
# sets the mode back afterwards: two calls give one output, that of a call after `ema.eval()`.
# Seen: ema-pytorch 0.8.3. It remembers the mode, and sets it back, but never calls `eval()` between. The average is a
# copy of the model, and most are copied while they train: two calls differ by up to .8, as two plain calls do, and
# batch norm would count the texts of the evaluation in. After `ema.eval()` both are equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ema-pytorch==0.8.3 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
texts = torch.randn(4, 8, 16)
average = EMA(layer)


def apart(call):
    with torch.no_grad():
        return f"{(call(texts) - call(texts)).abs().max().item():.1f}"


words = [f"forward_eval {apart(average.forward_eval)}", f"a plain call {apart(average)}"]
average.eval()
words.append(f"forward_eval after eval() {apart(average.forward_eval)}")
print(f"ema-pytorch {importlib.metadata.version('ema-pytorch')}, two calls differ by: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ema-pytorch 0.8.3, two calls differ by: forward_eval 0.8, a plain call 0.8, forward_eval after eval()\
 0.0"
