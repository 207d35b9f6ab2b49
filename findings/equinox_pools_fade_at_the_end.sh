#!/usr/bin/env bash
# Equinox's average pool with `use_ceil` takes zeros beyond the end into the mean: a constant text fades to 2/3 there.
#
# Guess before the run: the pools of Equinox, whose documentation takes after PyTorch's, have PyTorch's numbers: with
# use_ceil the last window is the mean of what there is, and adaptive pooling has windows of the same length where it
# can.
# Seen: equinox 0.13.8, jax 0.10.2, PyTorch 2.13.0. The text is padded with zeros for the last window, and divided by
# the whole window: of six ones by windows of 3 in steps of 2 the last mean is .67, of five by windows of 4 in steps of
# 3 it is .50, PyTorch's are 1. Adaptive pooling cuts a text into parts that share no word, first the longer ones: of 0
# to 6 in three parts the means are 1, 3.5, 5.5, PyTorch's 1, 3, 5 from windows of 3 that overlap. Weights from PyTorch
# on top of such a pool see other inputs.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    equinox==0.13.8 jax==0.10.2 jaxlib==0.10.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import equinox as eqx
import jax.numpy as jnp
import torch


def show(values):
    return " ".join(f"{float(value):.2f}" for value in values[0])


words = []
for length, window, step in ((6, 3, 2), (5, 4, 3), (7, 3, 2)):
    ours = eqx.nn.AvgPool1d(window, step, use_ceil=True)(jnp.ones((1, length)))
    theirs = torch.nn.AvgPool1d(window, step, ceil_mode=True)(torch.ones(1, length))
    words.append(f"{length} ones by {window} in steps of {step} {show(ours)} (PyTorch {show(theirs)})")
ours = eqx.nn.AdaptiveAvgPool1d(3)(jnp.arange(7.0)[None])
theirs = torch.nn.AdaptiveAvgPool1d(3)(torch.arange(7.0)[None])
words.append(f"0 to 6 in three {show(ours)} (PyTorch {show(theirs)})")
print(f"equinox {eqx.__version__}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "equinox 0.13.8: 6 ones by 3 in steps of 2 1.00 1.00 0.67 (PyTorch 1.00 1.00 1.00), 5 ones by 4 in step\
s of 3 1.00 0.50 (PyTorch 1.00 1.00), 7 ones by 3 in steps of 2 1.00 1.00 1.00 (PyTorch 1.00 1.00 1.00), 0 to 6 in thr\
ee 1.00 3.50 5.50 (PyTorch 1.00 3.00 5.00)"
