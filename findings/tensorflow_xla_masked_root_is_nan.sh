#!/usr/bin/env bash
# A distance that `tf.where` masks has the gradient 0 in plain TensorFlow and NaN under `jit_compile`.
#
# Guess before the run: the known trap of `tf.where`, a gradient of 0 times infinity, is there in both: a root at 0 that
# is masked out gives NaN.
# Seen: tensorflow 2.20.0. The gradients of sqrt and rsqrt are 0 in plain TensorFlow, in eager mode and in a graph,
# where the gradient that comes in is 0: the mask does what people hope for. Compiled by XLA they are NaN, and so are
# those of the reciprocal and the norm. A loss of distances between sentences, two of them the same, that was tried in
# eager mode makes all weights NaN in the first compiled step. log and powers are alike in both.
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

squares = tf.constant([0.0, 4.0])  # squared distances; the first pair is one text twice


def gradient(function):
    def compute(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.where(x > 0, function(x), 0.0)
        return tape.gradient(y, x)

    return compute


def describe(function):
    compute = gradient(function)
    eager = compute(squares).numpy()[0]
    graph = tf.function(compute, autograph=False)(squares).numpy()[0]
    compiled = tf.function(compute, jit_compile=True, autograph=False)(squares).numpy()[0]
    return " ".join("NaN" if np.isnan(one) else f"{one:.0f}" for one in (eager, graph, compiled))


functions = {
    "sqrt": tf.sqrt,
    "rsqrt": tf.math.rsqrt,
    "reciprocal": tf.math.reciprocal,
    "norm": lambda x: tf.norm(x[:, None], axis=1),
    "log": tf.math.log,
    "power": lambda x: x**0.5,
}
print(
    f"tensorflow {tf.__version__}, gradients of what is masked, eager, in a graph, compiled:",
    ", ".join(f"{name} {describe(one)}" for name, one in functions.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, gradients of what is masked, eager, in a graph, compiled: sqrt 0 0 NaN, rsqrt 0 0\
 NaN, reciprocal 0 0 NaN, norm 0 0 NaN, log NaN NaN NaN, power NaN NaN NaN"
