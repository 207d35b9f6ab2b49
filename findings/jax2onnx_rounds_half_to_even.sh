#!/usr/bin/env bash
# `jax.lax.round` of a rating of 2.5 is 3 in JAX and 2 after conversion by jax2onnx, which rounds halves to even ones.
#
# Guess before the run: `jax.lax.round`, which "rounds half away from zero" unless it is told otherwise, is the same in
# ONNX, or is refused.
# Seen: jax2onnx 0.17.1, JAX 0.10.2, onnxruntime 1.32.0. ONNX's Round takes halves to the even neighbour: .5, 1.5, 2.5
# and 3.5 stars are 1, 2, 3 and 4 in JAX and 0, 2, 2 and 4 in ONNX. With `RoundingMethod.TO_NEAREST_EVEN`, as
# `jnp.round` has it, both are the latter. Averages of two annotators, or of four, are halves very often: of the means
# of two ratings from 1 to 5, each pair once, 6 of 25 get another class.
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


def both(function, array):
    """What JAX and the converted model return."""
    model = to_onnx(function, [jax.ShapeDtypeStruct(array.shape, array.dtype)])
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return np.asarray(function(array)), session.run(None, {session.get_inputs()[0].name: array})[0]


def words(pair):
    return " and ".join(" ".join(f"{number:.0f}" for number in array) for array in pair)


def to_even(array):
    return jax.lax.round(array, jax.lax.RoundingMethod.TO_NEAREST_EVEN)


halves = np.array([0.5, 1.5, 2.5, 3.5], np.float32)
ratings = np.arange(1, 6, dtype=np.float32)
here, there = both(jax.lax.round, ((ratings[:, None] + ratings) / 2).ravel())
print(
    f"jax2onnx {importlib.metadata.version('jax2onnx')}, JAX and ONNX: {words(both(jax.lax.round, halves))};",
    f"to even {words(both(to_even, halves))}; {(here != there).sum()} of 25 means differ",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1, JAX and ONNX: 1 2 3 4 and 0 2 2 4; to even 0 2 2 4 and 0 2 2 4; 6 of 25 means differ"
