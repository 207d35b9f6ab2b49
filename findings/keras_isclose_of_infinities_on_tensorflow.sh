#!/usr/bin/env bash
# On TensorFlow `keras.ops.isclose` finds plus and minus infinity close, and infinity not close to itself.
#
# Guess before the run: `keras.ops.isclose(scores, -inf)` finds the scores that a mask has closed, on each backend as in
# NumPy.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0 and JAX 0.10.2. On TensorFlow the test is |a - b| <= atol + rtol |b|: of two
# equal infinities the left side is NaN, and of two unlike ones both sides are infinite. So of the scores -inf, inf and
# 1 none that is closed is found, and the one that is infinite by an overflow is taken for closed. A number is close to
# infinity, too: 1 is "close" to inf. JAX and NumPy agree with each other: True, False, False. A check that all scores
# are finite or masked passes on one backend and fails on another.
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

    scores = np.array([-np.inf, np.inf, 1.0], "float32")
    words = []
    for value in (-np.inf, np.inf):
        found = keras.ops.isclose(scores, np.full(3, value, "float32"))
        right = np.isclose(scores, value)
        words.append(f"close to {value}: {keras.ops.convert_to_numpy(found).tolist()} for {right.tolist()}")
    print(f"keras {keras.__version__} on {sys.argv[2]}, -inf, inf and 1 {', '.join(words)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on tensorflow, -inf, inf and 1 close to -inf: [False, True, True] for [True, False,\
 False], close to inf: [True, False, True] for [False, True, False]; keras 3.15.1 on jax, -inf, inf and 1 close to\
 -inf: [True, False, False] for [True, False, False], close to inf: [False, True, False] for [False, True, False]"
