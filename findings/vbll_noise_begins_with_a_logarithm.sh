#!/usr/bin/env bash
# The heteroscedastic head of vbll begins with a log noise that varies by 6 instead of .06: its first loss is infinite.
#
# Guess before the run: `HetClassification` begins with the `noise_prior_scale` that it is given, .01, with each of its
# covariances: "dense", the default, and "diagonal".
# Seen: vbll 0.4.9. Half of the logarithm of the scale, -2.3, is added to all numbers below the diagonal of the
# Cholesky factor, which are no logarithms. For 8 pooled units the log noise of a class has a standard deviation of 6.6
# with "dense" and of .06 with "diagonal", the loss is infinite, and four gradients are NaN; for 4 units the deviation
# is 3.3. With 32 units the call fails. With `noise_prior_scale=1`, whose logarithm is 0, both are alike.
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
from vbll.layers.classification import HetClassification


def show(units, kind, scale):
    torch.manual_seed(0)
    layer = HetClassification(units, 2, 1e-3, parameterization=kind, noise_prior_scale=scale)
    pooled = torch.tanh(torch.randn(64, units))
    deviation = (layer.M @ pooled[..., None]).squeeze(-1).scale.mean()
    loss = layer(pooled).train_loss_fn(torch.randint(0, 2, (64,)))
    loss.backward()
    missing = sum(int(one.grad.isnan().any()) for one in layer.parameters() if one.grad is not None)
    finite = "finite" if loss.isfinite() else "infinite"
    return f"{kind} {deviation:.2f}, loss {finite}, {missing} gradients NaN"


words = []
for units, scale in ((4, 0.01), (8, 0.01), (8, 1.0)):
    parts = "; ".join(show(units, kind, scale) for kind in ("dense", "diagonal"))
    words.append(f"{units} units, scale {scale:g}: {parts}")
print(f"vbll {importlib.metadata.version('vbll')}, deviation of the log noise, {' | '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "vbll 0.4.9, deviation of the log noise, 4 units, scale 0.01: dense 3.33, loss finite, 0 gradients\
 NaN; diagonal 0.06, loss finite, 0 gradients NaN | 8 units, scale 0.01: dense 6.56, loss infinite, 4 gradients NaN;\
 diagonal 0.06, loss finite, 0 gradients NaN | 8 units, scale 1: dense 0.64, loss finite, 0 gradients NaN; diagonal\
 0.62, loss finite, 0 gradients NaN"
