#!/usr/bin/env bash
# A decoder whose attention is `nnx.dot_product_attention(is_causal=True)` reads ahead after conversion by jax2onnx.
#
# Guess before the run: the option is converted, as that of `jax.nn.dot_product_attention` is, or refused.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, Flax 0.12.8, onnxruntime 1.32.0. ONNX's attention has no mask at all: with equal
# scores and the values 1, 4, 7 the three outputs are 1, 2.5, 4 in Flax and 4, 4, 4 in ONNX. Nothing is said. With a
# mask beside it, of padding, the option is lost as well. A causal mask given as `mask` is right.
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
from flax import nnx
from jax2onnx import to_onnx

zeros = np.zeros((1, 3, 1, 1), np.float32)
value = np.array([1, 4, 7], np.float32).reshape(1, 3, 1, 1)


def both(attention, *arrays):
    """What Flax and the converted model return."""
    model = to_onnx(attention, [jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = dict(zip([feed.name for feed in session.get_inputs()], arrays))
    pair = np.asarray(attention(*arrays)), session.run(None, feeds)[0]
    return " and ".join(" ".join(f"{number:.1f}" for number in array.ravel()) for array in pair)


def causal(query, key, value):
    return nnx.dot_product_attention(query, key, value, is_causal=True)


def padded(query, key, value, mask):
    return nnx.dot_product_attention(query, key, value, mask=mask, is_causal=True)


def masked(query, key, value, mask):
    return nnx.dot_product_attention(query, key, value, mask=mask)


text = np.tile([True, True, False], (1, 1, 3, 1))
triangle = np.tril(np.ones((1, 1, 3, 3), bool))
print(
    f"jax2onnx {importlib.metadata.version('jax2onnx')}, Flax and ONNX: causal {both(causal, zeros, zeros, value)};",
    f"with a mask of padding {both(padded, zeros, zeros, value, text)};",
    f"as a mask {both(masked, zeros, zeros, value, triangle)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1, Flax and ONNX: causal 1.0 2.5 4.0 and 4.0 4.0 4.0; with a mask of padding 1.0 2.5 2.5\
 and 2.5 2.5 2.5; as a mask 1.0 2.5 4.0 and 1.0 2.5 4.0"
