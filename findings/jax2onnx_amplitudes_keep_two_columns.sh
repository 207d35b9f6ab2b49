#!/usr/bin/env bash
# The amplitude of a spectrum, `jnp.abs(jnp.fft.rfft(x))`, is two columns in jax2onnx's ONNX, one for each part of it.
#
# Guess before the run: jax2onnx converts `abs` of complex numbers to the root of both squares, or refuses it; it
# converts `.real` of the same spectrum rightly.
# Seen: jax2onnx 0.17.1, onnxruntime 1.32.0. Of two texts with five frequencies the amplitudes are [2, 5], 2.82, 1.85,
# 2.49, in JAX and [2, 5, 2], 2.82, 0.00, 0.91, in ONNX: the absolute value of each part by itself. Their mean power,
# one number in both, is 8.67 in JAX and 4.34 in ONNX, and no shape shows it. Features of a Fourier transform over the
# words of a text are other ones after the conversion.
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
import logging

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
from jax2onnx import to_onnx

logging.disable(logging.CRITICAL)
texts = np.random.default_rng(0).normal(size=(2, 8)).astype("float32")
shape = jax.ShapeDtypeStruct(texts.shape, texts.dtype)
parts = []
for name, function in {
    "real part": lambda x: jnp.fft.rfft(x).real,
    "amplitude": lambda x: jnp.abs(jnp.fft.rfft(x)),
    "mean power": lambda x: jnp.mean(jnp.abs(jnp.fft.rfft(x)) ** 2),
}.items():
    session = onnxruntime.InferenceSession(to_onnx(function, [shape]).SerializeToString())
    (place,) = session.get_inputs()
    own = np.asarray(function(texts))
    (converted,) = session.run(None, {place.name: texts})
    parts.append(
        f"{name} {own.shape} {' '.join(f'{value:.2f}' for value in own.ravel()[:3])},"
        f" in ONNX {converted.shape} {' '.join(f'{value:.2f}' for value in converted.ravel()[:3])}"
    )
print(f"jax2onnx {importlib.metadata.version('jax2onnx')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1: real part (2, 5) 2.82 0.91 -2.35, in ONNX (2, 5) 2.82 0.91 -2.35; amplitude (2, 5)\
 2.82 1.85 2.49, in ONNX (2, 5, 2) 2.82 0.00 0.91; mean power () 8.67, in ONNX () 4.34"
