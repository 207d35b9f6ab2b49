#!/usr/bin/env bash
# MovingAverage of TensorFlow Addons reads `num_updates` once: from a count of 0 on, .9 of an average is the last step.
#
# Guess before the run: with `num_updates`, a count of the updates in a variable, the decay rises from .1 to
# `average_decay`, (1 + n) / (10 + n), as the original of this rule in TensorFlow does.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. The decay is computed where the optimizer is made, from the
# count of then: 0 gives .1 for good, whatever the variable says later. After 1,000 steps of weights that are 1 and
# -1 in turn the "average" is .8 off, where tf.train.ExponentialMovingAverage with the same two numbers is .01 off. A
# resumed run, whose count begins high, averages another way.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow as tf
import tensorflow_addons as tfa

count = tf.Variable(0, dtype=tf.int64)
weight = tf.Variable(1.0)
optimizer = tfa.optimizers.MovingAverage(
    tf.keras.optimizers.legacy.SGD(1.0), average_decay=0.99, num_updates=count
)
other = tf.Variable(1.0)
original = tf.train.ExponentialMovingAverage(0.99, num_updates=count)


@tf.function
def step():
    """The weight changes its sign."""
    optimizer.apply_gradients([(2 * weight, weight)])
    other.assign(-other)
    original.apply([other])
    count.assign_add(1)


original.apply([other])
for _ in range(1000):
    step()
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"after {int(count)} steps of 1 and -1: average {float(optimizer.get_slot(weight, 'average')):.2f},",
    f"that of tf.train {float(original.average(other)):.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, after 1000 steps of 1 and -1: average 0.82, that of\
 tf.train 0.01"
