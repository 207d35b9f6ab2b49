#!/usr/bin/env bash
# `keras.ops.cumsum` of a mask of bytes counts to 255 and begins at 0 again, where `keras.ops.sum` of it is right.
#
# Guess before the run: both add in a larger type, as NumPy does: the positions of 300 words by the cumulative sum of
# their mask go up to 300.
# Seen: keras 3.15.1 on TensorFlow 2.20.0 and JAX 0.10.2. The sum of a uint8 mask is uint32 and 300; its cumulative sum
# is uint8, and the last word has the position 44. Of int8 it is negative from the 128th word on. Of a bool mask both
# are int32 and right. Positions that are computed from a stored mask are those of other words in texts of more than 255
# tokens.
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

mask = np.ones(300)
parts = []
for dtype in ("uint8", "int8", "bool"):
    total, counts = ops.sum(mask.astype(dtype)), ops.cumsum(mask.astype(dtype))
    parts.append(f"{dtype}: sum {int(total)}, last position {int(counts[-1])}")
print(", ".join(parts))
"""

for backend in ("tensorflow", "jax"):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    print(backend, done.stdout.strip().splitlines()[-1], end="; ")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow uint8: sum 300, last position 44, int8: sum 300, last position 44, bool: sum 300, last \
position 300; jax uint8: sum 300, last position 44, int8: sum 300, last position 44, bool: sum 300, \
last position 300; "
