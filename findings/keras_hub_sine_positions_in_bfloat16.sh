#!/usr/bin/env bash
# Under "mixed_bfloat16" the sine positions of KerasHub are the same for neighbours from place 256 on, and others than they say.
#
# Guess before the run: `SinePositionEncoding` has 512 different rows for 512 positions under every policy, and in bfloat16
# each number is its sine or cosine to three digits.
# Seen: KerasHub 0.32.0 on TensorFlow 2.20.0. Of 512 rows of 64 numbers 512 differ in float32 and in
# float16, and 385 in bfloat16: places are counted in the layer's type, whose integers end at 256, so that from there
# on two places have one row. The angles are computed in it too: the largest error is 1.6 in bfloat16, and .20 in
# float16, of sines.
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

states = np.zeros((1, 512, 64), "float32")
words = []
for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
    rows = keras_hub.layers.SinePositionEncoding(dtype=policy)(states)
    rows = keras.ops.convert_to_numpy(keras.ops.cast(rows, "float32"))[0]
    if policy == "float32":
        exact = rows
    words.append(f"{policy} {len(np.unique(rows, axis=0))}, error {np.max(np.abs(rows - exact)):.1f};")
print(f"keras_hub {keras_hub.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: float32 512, error 0.0; mixed_float16 512, error 0.2; mixed_bfloat16 385, error 1.6;"
