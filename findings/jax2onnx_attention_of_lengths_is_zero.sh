#!/usr/bin/env bash
# jax2onnx's attention by lengths of texts is zero but for the first words, as many as it has heads.
#
# Guess before the run: `jax.nn.dot_product_attention` with the lengths of the keys leaves out what comes after the
# end of a text, in JAX and in the ONNX model, as it does with a mask that says the same.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, onnxruntime 1.32.0. Where the lengths of the queries are not given, the converter
# takes the number of heads for them: with one head the first word of a text attends, with two the first two words,
# and all later ones have outputs of 0. With a mask that says the same all words are right. Nothing warns, and the
# shape is right.
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

import jax
import numpy as np
import onnxruntime
from jax2onnx import to_onnx


def both(function, *arrays):
    """What JAX and the converted model return."""
    model = to_onnx(function, inputs=[jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    there = session.run(None, dict(zip([feed.name for feed in session.get_inputs()], arrays)))[0]
    return np.asarray(function(*map(jax.numpy.asarray, arrays))), there


random = np.random.default_rng(0)


def by_lengths(query, key, value, lengths):
    return jax.nn.dot_product_attention(query, key, value, key_value_seq_lengths=lengths)


def by_mask(query, key, value, mask):
    return jax.nn.dot_product_attention(query, key, value, mask=mask)


words = []
for heads in (1, 2, 4):
    query, key, value = (random.normal(size=(2, 6, heads, 8)).astype(np.float32) for _ in range(3))
    lengths = np.full(2, 5, np.int32)
    mask = (np.arange(6) < lengths[:, None])[:, None, None, :]
    parts = []
    for function, last in ((by_lengths, lengths), (by_mask, mask)):
        here, there = both(function, query, key, value, last)
        same = np.abs(here - there).max(axis=(0, 2, 3)) < 1e-4
        zero = np.abs(there).max(axis=(0, 2, 3)) == 0
        parts.append(f"{same.sum()} right and {zero.sum()} zero")
    words.append(f"heads {heads}, {parts[0]}, by a mask {parts[1]}")
print(f"jax2onnx {importlib.metadata.version('jax2onnx')}, of 6 words: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1, of 6 words: heads 1, 1 right and 5 zero, by a mask 6 right and 0 zero; heads 2, 2\
 right and 4 zero, by a mask 6 right and 0 zero; heads 4, 4 right and 2 zero, by a mask 6 right and 0 zero"
