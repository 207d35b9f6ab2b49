#!/usr/bin/env bash
# `tf.experimental.numpy.take(x, [-1])` is the first element, along every axis: it clips what NumPy counts from the end.
#
# Guess before the run: it is the last one, as in NumPy, whose functions this module has under their names.
# Seen: tensorflow 2.20.0. By default indices are clipped to the range, so that -1 and -3 are 0, without an axis and
# with one. take_along_axis and x[-1] count from the end. The vector of a causal model's last word, x.take([-1], axis=1)
# in code that was written for NumPy, is that of the first word.
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
import tensorflow.experimental.numpy as tnp

x = np.arange(12, dtype="float32").reshape(3, 4)


def compare(name, *arguments):
    own = np.asarray(getattr(tnp, name)(tnp.asarray(x), *arguments))
    right = getattr(np, name)(x, *arguments)
    return f"{own.ravel().astype(int).tolist()} for {right.ravel().astype(int).tolist()}"


ends = np.full((3, 1), -1)
print(
    f"tensorflow {tf.__version__}: take {compare('take', [-1, -3])}, along an axis {compare('take', [-1], 1)},",
    f"take_along_axis {compare('take_along_axis', ends, 1)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: take [0, 0] for [11, 9], along an axis [0, 4, 8] for [3, 7, 11], take_along_axis \
[3, 7, 11] for [3, 7, 11]"
