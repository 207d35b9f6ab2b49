#!/usr/bin/env bash
# Haiku's LayerNorm and RMSNorm of float16 states above some hundreds are all zeros: the layer's input vanishes unseen.
#
# Guess before the run: the norm of states in float16 is that of float32 within a thousandth, however large the states
# are that fit into float16, as in PyTorch, which computes in float32 within.
# Seen: dm-haiku 0.0.17, jax 0.10.2, PyTorch 2.13.0. Mean and variance are taken in the type of the states: a mean
# square above 65,504 is infinite, its inverse root 0, and so are all outputs, without NaN or a warning. RMSNorm is 0 as
# soon as one unit is above 256, whose square is infinite, LayerNorm from a spread of 256 on; a few outlier units are
# enough, as trained transformers have: with two of 768 units at 6,000 all the others are 0 as well. In bfloat16 nothing
# overflows.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dm-haiku==0.0.17 jax==0.10.2 jaxlib==0.10.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import haiku as hk
import jax.numpy as jnp
import numpy as np
import torch

states = np.random.default_rng(0).normal(size=(4, 768))
outliers = states.copy()
outliers[:, :2] = 6000


def normalize(layer, x):
    function = hk.transform(lambda x: layer()(x))
    return np.asarray(function.apply(function.init(None, x), None, x), "float32")


layers = {"LayerNorm": lambda: hk.LayerNorm(-1, False, False), "RMSNorm": lambda: hk.RMSNorm(-1)}
words = []
for name, x in (("100", states * 100), ("200", states * 200), ("400", states * 400), ("1 and two of 6000", outliers)):
    half = x.astype("float16")
    parts = [f"{layer} {normalize(make, jnp.asarray(half)).std():.2f}" for layer, make in layers.items()]
    right = [f"{normalize(make, jnp.asarray(half, 'float32')).std():.2f}" for make in layers.values()]
    other = torch.nn.functional.layer_norm(torch.tensor(half), (768,)).float().std()
    words.append(f"{name} {', '.join(parts)} (in float32 {', '.join(right)}, PyTorch's {other:.2f})")
version = importlib.metadata.version("dm-haiku")
print(f"dm-haiku {version}, spread of normalized float16 states of: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dm-haiku 0.0.17, spread of normalized float16 states of: 100 LayerNorm 1.00, RMSNorm 0.00 (in float32 \
1.00, 1.00, PyTorch's 1.00); 200 LayerNorm 1.00, RMSNorm 0.00 (in float32 1.00, 1.00, PyTorch's 1.00); 400 LayerNorm 0\
.00, RMSNorm 0.00 (in float32 1.00, 1.00, PyTorch's 1.00); 1 and two of 6000 LayerNorm 0.00, RMSNorm 0.00 (in float32 \
1.00, 1.00, PyTorch's 1.00)"
