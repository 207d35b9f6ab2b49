#!/usr/bin/env bash
# Under "mixed_bfloat16" words after the 256th share positions in SinePositionEncoding of KerasHub.
#
# Guess before the run: under "mixed_bfloat16" each of 512 words has its own position, whose numbers are rounded to
# three digits, as the angles of a sine are between -1 and 1.
# Seen: KerasHub 0.32.0, Keras 3.15.1 on TensorFlow 2.20.0. Positions are counted in bfloat16, which has 8 bits: of 512
# positions 385 are left, from the 257th on in pairs. The angles are rounded likewise, so that single sines are off by
# up to 1.6. AlibiBias has 385 distances. In float16 all 512 are different, and sines off by .2. RotaryEmbedding keeps
# 512 and is off by .03.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import keras_hub
import numpy as np
from keras_hub.layers import AlibiBias, RotaryEmbedding, SinePositionEncoding

rng = np.random.default_rng(0)
inputs = {
    SinePositionEncoding: np.zeros((1, 512, 64), "float32"),
    AlibiBias: np.zeros((1, 8, 1, 512), "float32"),
    RotaryEmbedding: rng.normal(size=(1, 512, 2, 64)).astype("float32"),
}


def positions(kind, policy):
    values = keras.ops.cast(kind(dtype=policy)(inputs[kind]), "float32")
    values = keras.ops.convert_to_numpy(values)[0]
    return values[0, 0][:, None] if kind is AlibiBias else values.reshape(512, -1)


parts = []
for kind in inputs:
    right = positions(kind, "float32")
    for policy in ("mixed_bfloat16", "mixed_float16"):
        found = positions(kind, policy)
        count, error = len(np.unique(found, axis=0)), np.abs(found - right).max()
        parts.append(f"{kind.__name__} {policy} {count} off by {error:.2f}")
print(f"keras-hub {keras_hub.__version__}: {', '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 \
    "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-hub 0.32.0: SinePositionEncoding mixed_bfloat16 385 off by 1.56, SinePositionEncoding\
 mixed_float16 512 off by 0.20, AlibiBias mixed_bfloat16 385 off by 0.50, AlibiBias mixed_float16 512 off by 0.00,\
 RotaryEmbedding mixed_bfloat16 512 off by 0.03, RotaryEmbedding mixed_float16 512 off by 0.00"
