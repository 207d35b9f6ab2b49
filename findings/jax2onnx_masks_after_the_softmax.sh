#!/usr/bin/env bash
# jax2onnx masks attention after the softmax: where padding has by far the highest score, all words read zeros.
#
# Guess before the run: `jax.nn.dot_product_attention(mask=...)`, converted by jax2onnx, sees what JAX sees: padding has
# no weight, however high its score is, and a query whose keys are all masked gets their plain mean.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, Flax 0.12.8, onnxruntime 1.32.0. The softmax is over all keys, padding as well; its
# result is set to zero at padding and divided by what is left. A padded key whose score is 20 higher changes nothing;
# one that is 110 higher leaves nothing of the text: 0.00 in ONNX and 2.50 in JAX. A query without a key, as
# `make_attention_mask(mask, mask)` makes it at padding, is 0.00 in ONNX and the mean, 4.00, in JAX, so that a mean over
# all positions differs. Flax Linen's `dot_product_attention` does the same, and so does `nnx.MultiHeadAttention`: with
# a padded vector 300 times as large as the words it is off by .6.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax2onnx==0.17.1 jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 equinox==0.13.8 onnx==1.23.2 onnx-ir==1.1.0 \
    onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import flax.linen
import jax
import numpy as np
import onnxruntime
from flax import nnx
from jax2onnx import to_onnx


def both(attention, *arrays):
    """What JAX and the converted model return."""
    model = to_onnx(attention, [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = dict(zip([feed.name for feed in session.get_inputs()], arrays))
    return np.asarray(attention(*arrays)), session.run(None, feeds)[0]


def plain(query, key, value, mask):
    return jax.nn.dot_product_attention(query, key, value, mask=mask)


def linen(query, key, value, mask):
    return flax.linen.dot_product_attention(query, key, value, mask=mask)


def first(attention, lead, mask):
    """The first output where the score of the third key is higher by `lead`."""
    query = np.ones((1, 3, 1, 1), np.float32)
    key = np.array([0, 0, lead], np.float32).reshape(1, 3, 1, 1)
    value = np.array([1, 4, 7], np.float32).reshape(1, 3, 1, 1)
    values = both(attention, query, key, value, np.tile(mask, (1, 1, 3, 1)))
    return " ".join(f"{array.ravel()[0]:.2f}" for array in values)


text = [True, True, False]
cases = [("lead of 20", 20, text), ("of 110", 110, text), ("no key", 0, [False] * 3)]
parts = [f"{name} {first(plain, lead, mask)}, Linen {first(linen, lead, mask)}" for name, lead, mask in cases]
layer = nnx.MultiHeadAttention(2, 8, rngs=nnx.Rngs(0), decode=False)
words = np.random.default_rng(0).normal(size=(1, 5, 8)).astype(np.float32)
words[:, 4] *= 300
mask = np.tile([True] * 4 + [False], (1, 1, 5, 1))
here, there = both(lambda words, mask: layer(words, mask=mask, deterministic=True), words, mask)
parts.append(f"MultiHeadAttention off by {np.abs(here - there)[:, :4].max():.1f}")
print(f"jax2onnx {importlib.metadata.version('jax2onnx')}, JAX and ONNX: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1, JAX and ONNX: lead of 20 2.50 2.50, Linen 2.50 2.50; of 110 2.50 0.00, Linen 2.50\
 0.00; no key 4.00 0.00, Linen 4.00 0.00; MultiHeadAttention off by 0.6"
