#!/usr/bin/env bash
# Log-sums along a text, `jax.lax.cumlogsumexp`, are infinite from scores of 89 on in jax2onnx's ONNX, and below -104.
#
# Guess before the run: jax2onnx keeps what this function is there for: log-sums of large and of small scores, as those
# of a CRF over a BERT's tags or of a sum over the ends of answers, without any overflow.
# Seen: jax2onnx 0.17.1, onnxruntime 1.32.0. It becomes Exp, CumSum and Log. Scores 60, 80, 100, 120 have log-sums of
# 60.0, 80.0, 100.0, 120.0 in JAX and 60.0, 80.0, inf, inf in ONNX; -120, -110, -105, -100 are -inf, -inf, -inf and
# -100.0. Small scores are right, so that a test with a new model passes.
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
import numpy as np
import onnxruntime
from jax2onnx import to_onnx

logging.disable(logging.CRITICAL)


def log_sums(scores):
    return jax.lax.cumlogsumexp(scores, axis=1)


shape = jax.ShapeDtypeStruct((1, 4), np.float32)
session = onnxruntime.InferenceSession(to_onnx(log_sums, [shape]).SerializeToString())
(place,) = session.get_inputs()
parts = []
for name, numbers in (("small", [1, 2, 3, 4]), ("large", [60, 80, 100, 120]), ("unlikely", [-120, -110, -105, -100])):
    scores = np.array([numbers], np.float32)
    own = " ".join(f"{value:.1f}" for value in np.asarray(log_sums(scores))[0])
    converted = " ".join(f"{value:.1f}" for value in session.run(None, {place.name: scores})[0][0])
    parts.append(f"{name} {own}, in ONNX {converted}")
print(f"jax2onnx {importlib.metadata.version('jax2onnx')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax2onnx 0.17.1: small 1.0 2.3 3.4 4.4, in ONNX 1.0 2.3 3.4 4.4; large 60.0 80.0 100.0 120.0, in ONNX\
 60.0 80.0 inf inf; unlikely -120.0 -110.0 -105.0 -100.0, in ONNX -inf -inf -inf -100.0"
