#!/usr/bin/env bash
# Under `jit_compile` `tf.argmax` of scores with a NaN is the best one after the NaN: what came before is forgotten.
#
# Guess before the run: the place of the NaN, as in NumPy and PyTorch, or that of the best of the others; the same
# compiled or not.
# Seen: tensorflow 2.20.0 on a CPU. Of .9 .2 NaN .7 .8 the largest is at 0 in plain TensorFlow, which passes over the
# NaN, and at 4 compiled, where .8 is. The smallest is at 1 and at 3, where .7 is. Nothing points to the NaN. A tagger
# or a nearest-neighbour search with one broken score answers with something that looks like an answer, and with
# another one under XLA. Look for `tf.math.is_nan` first.
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

scores = np.array([0.9, 0.2, 0.1, 0.7, 0.8], "float32")
broken = scores.copy()
broken[2] = np.nan
for name, function in {"argmax": tf.argmax, "argmin": tf.argmin}.items():
    compiled = tf.function(function, jit_compile=True)
    found = [int(one(row)) for row in (scores, broken) for one in (function, compiled)]
    print(f"tensorflow {tf.__version__} {name}: %d %d, with a NaN %d %d" % tuple(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "tensorflow 2.20.0 argmax: 0 0, with a NaN 0 4
tensorflow 2.20.0 argmin: 2 2, with a NaN 1 3"
