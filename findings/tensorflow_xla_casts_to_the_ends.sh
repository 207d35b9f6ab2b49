#!/usr/bin/env bash
# An outlier of 1.2 that TensorFlow casts to int8 is -104, the other sign; under `jit_compile` it is 127.
#
# Guess before the run: a cast of a rounded float to int8 keeps the low bits, or saturates, in the same way compiled or
# not.
# Seen: tensorflow 2.20.0 on a CPU. Units of a sentence vector are scaled by 127 and cast. 1.2 is -104 in plain
# TensorFlow and 127 compiled, -1.6 is 53 and -128. In uint8 -.3 is 218 and 0. To int32, 3e9 and NaN are -2147483648 in
# plain TensorFlow, compiled 2147483647 and 0. An index that one program writes and another one searches has outliers
# with the wrong sign in one of them. `tf.clip_by_value` before the cast makes them equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf

units = np.array([1.2, -0.3, -1.6, 3e9, np.nan], "float32")
for kind, scale in ((tf.int8, 127.0), (tf.uint8, 127.0), (tf.int32, 1.0)):
    cast = lambda x: tf.cast(tf.round(x * scale), kind)
    plain, compiled = [tf.function(cast, jit_compile=jit)(units).numpy().tolist() for jit in (False, True)]
    print(f"tensorflow {tf.__version__} {kind.name}: {plain} | {compiled}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "tensorflow 2.20.0 int8: [-104, -38, 53, 0, 0] | [127, -38, -128, 127, 0]
tensorflow 2.20.0 uint8: [152, 218, 53, 0, 0] | [152, 0, 0, 255, 0]
tensorflow 2.20.0 int32: [1, 0, -2, -2147483648, -2147483648] | [1, 0, -2, 2147483647, 0]"
