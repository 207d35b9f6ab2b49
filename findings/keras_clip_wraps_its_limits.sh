#!/usr/bin/env bash
# `keras.ops.clip` of bytes to at most 300 makes 44 of 107 and 250: it wraps the limit to the type of the numbers.
#
# Guess before the run: a limit that no number of the type can reach changes nothing, as in NumPy: 107 clipped to 0 and
# 300 is 107.
# Seen: keras 3.15.1 on TensorFlow 2.20.0 and JAX 0.10.2. The limits are cast to uint8 or int8, where 300 is 44 and 200
# is -56: of lengths 5, 107, 250 the last two become 44, with a lower limit of -1 all three are 255 on TensorFlow and 44
# on JAX, and int8 numbers clipped to 0 and 200 are 0 and -56. int32 and float32 are right. Lengths, scores of 8 bits
# and ids that were stored small are other ones after a clip that should do nothing.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 tensorflow-cpu==2.20.0 numpy==2.4.6 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import os
import subprocess
import sys

PROGRAM = """
import keras
import numpy as np
from keras import ops

lengths = np.array([5, 107, 250], "uint8")
small = np.array([5, 100], "int8")
found = [
    ops.clip(lengths, 0, 300),
    ops.clip(lengths, -1, 300),
    ops.clip(small, 0, 200),
    ops.clip(lengths.astype("int32"), 0, 300),
]
print(*(ops.convert_to_numpy(one).tolist() for one in found))
"""

for backend in ("tensorflow", "jax"):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    print(backend, done.stdout.strip().splitlines()[-1], end="; ")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow [5, 44, 44] [255, 255, 255] [0, 0] [5, 107, 250]; jax [5, 44, 44] [44, 44, 44] [-56, -56]\
 [5, 107, 250]; "
