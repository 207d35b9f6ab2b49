#!/usr/bin/env bash
# Under `jit_compile` on TensorFlow's CPU the maximum of NaN is another number: pooled texts and checks don't show it.
#
# Guess before the run: the largest value of states with a NaN is NaN, compiled or not, so that a check of the largest
# logit, or a sentence vector that is pooled by maximum, shows that a model has diverged.
# Seen: tensorflow 2.20.0. Without XLA it is so. Compiled by XLA for the CPU, reduce_max, reduce_min and the infinity
# norm leave NaN out, wherever it is, in all float types: a text with a broken word has the vector of its other words,
# and of a text that is NaN alone the largest value is -inf. A sum is NaN in both, and tf.math.is_nan says so too.
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

states = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")  # texts, words, units
states[0] = np.nan  # a text without words to attend to
states[1, 3] = np.nan  # and a word
functions = {
    "largest": lambda x: tf.reduce_max(x[1]),
    "smallest": lambda x: tf.reduce_min(x[1]),
    "infinity norm": lambda x: tf.norm(x[1], ord=np.inf),
    "largest of NaN alone": lambda x: tf.reduce_max(x[0]),
    "sum": lambda x: tf.reduce_sum(x[1]),
}


def describe(function):
    results = (function(tf.constant(states)), tf.function(function, jit_compile=True)(states))
    return " ".join("NaN" if np.isnan(one) else "-inf" if np.isinf(one) else "number" for one in results)


pooled = tf.function(lambda x: tf.reduce_max(x, axis=1), jit_compile=True)(states)[1]
others = np.delete(states[1], 3, axis=0).max(axis=0)
print(
    f"tensorflow {tf.__version__}, plain and compiled:",
    f"{', '.join(f'{name} {describe(one)}' for name, one in functions.items())};",
    f"a text pooled by maximum is that of its other words: {np.array_equal(pooled, others)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, plain and compiled: largest NaN number, smallest NaN number, infinity norm NaN\
 number, largest of NaN alone NaN -inf, sum NaN NaN; a text pooled by maximum is that of its other words:\
 True"
