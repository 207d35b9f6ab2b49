#!/usr/bin/env bash
# On TensorFlow `keras.ops.moments` of whole numbers are whole numbers: mean and variance are 1 and 1 for 1.90 and .29.
#
# Guess before the run: `keras.ops.moments` of int32, as of the lengths of texts or of stars, is that of the numbers as
# floats, on each backend; `keras.ops.mean` and `keras.ops.var` are.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0 and JAX 0.10.2. On TensorFlow the two are cast back to the type of the input:
# of ratings with a mean of 1.90 and a variance of .29 the moments are 1 and 1. JAX has 1.90 and .29, and so have `mean`
# and `var` of both. Labels, lengths, counts and times are whole numbers; the same line standardizes them on one backend
# and shifts them on the other.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 jax==0.10.2 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import os
import subprocess
import sys

import numpy as np

if len(sys.argv) < 3:
    parts = []
    for backend in ("tensorflow", "jax"):
        command = [sys.executable, __file__, sys.argv[1], backend]
        environment = {**os.environ, "KERAS_BACKEND": backend}
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        parts.append(result.stdout.strip().splitlines()[-1])
    print(*parts, sep="; ")
else:
    import keras

    numbers = np.array([1, 2, 2, 2, 2, 1, 2, 3, 2, 2], "int32")
    mean, variance = keras.ops.moments(numbers, axes=0)
    print(
        f"keras {keras.__version__} on {sys.argv[2]}: moments {float(mean):.2f} {float(variance):.2f},",
        f"mean and var {float(keras.ops.mean(numbers)):.2f} {float(keras.ops.var(numbers)):.2f}",
    )
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on tensorflow: moments 1.00 1.00, mean and var 1.90 0.29; keras 3.15.1 on jax: moments\
 1.90 0.29, mean and var 1.90 0.29"
