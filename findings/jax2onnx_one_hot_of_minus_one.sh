#!/usr/bin/env bash
# jax2onnx takes the label -1, which JAX's one-hot leaves out, for the last class: a loss with padding is another one.
#
# Guess before the run: `jax.nn.one_hot` of a number outside of the classes is "encoded as zeros", as its page says,
# and stays that in ONNX, so that labels of -1 don't count in a loss.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, onnxruntime 1.32.0. ONNX's OneHot counts -1 from the end: two positions of
# padding become labels of the last class, and the loss of a model that is right in all of its words is 8.14 instead
# of .07.
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


labels = np.array([0, 1, -1, -1], np.int32)
logits = np.array([[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]], np.float32)


def loss(labels, logits):
    return -(jax.nn.one_hot(labels, 3) * jax.nn.log_softmax(logits)).sum()


def classes(labels):
    return jax.nn.one_hot(labels, 3).sum(0)


losses = both(loss, labels, logits)
counts = [" ".join(f"{value:.0f}" for value in values) for values in both(classes, labels)]
print(
    f"jax2onnx {importlib.metadata.version('jax2onnx')}: loss in JAX {losses[0]:.2f}, in ONNX {losses[1]:.2f};",
    f"labels of the classes {counts[0]} and {counts[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1: loss in JAX 0.07, in ONNX 8.14; labels of the classes 1 1 0 and 1 1 2"
