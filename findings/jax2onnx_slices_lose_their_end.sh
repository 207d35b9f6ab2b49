#!/usr/bin/env bash
# A window at the end of a text, `jax.lax.dynamic_slice`, has one word instead of three after conversion by jax2onnx.
#
# Guess before the run: `dynamic_slice` moves a start that is too near the end back, so that a slice always has its
# size: the ONNX model returns what JAX does, and has the shape that it was converted with.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, onnxruntime 1.32.0. It becomes ONNX's Slice from the start to the start and
# three, which ends with the text: from 5 of six words one is left, from 9 none. JAX has the last three words each
# time. onnxruntime warns of another shape than the model names, and goes on.
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


words_of_text = np.arange(1.0, 7.0, dtype=np.float32)


def window(words, start):
    return jax.lax.dynamic_slice(words, (start,), (3,))


words = []
for start in (2, 5, 9, -1):
    here, there = both(window, words_of_text, np.array(start, np.int32))
    parts = [" ".join(f"{value:.0f}" for value in values) or "nothing" for values in (here, there)]
    words.append(f"from {start} JAX {parts[0]}, ONNX {parts[1]}")
print(f"jax2onnx {importlib.metadata.version('jax2onnx')}, three of six words: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1, three of six words: from 2 JAX 3 4 5, ONNX 3 4 5; from 5 JAX 4 5 6, ONNX 6; from 9\
 JAX 4 5 6, ONNX nothing; from -1 JAX 4 5 6, ONNX 6"
