#!/usr/bin/env bash
# With clipped gradients one NaN is a step of full size under `jit_compile`: `tf.clip_by_value` makes -1 of it.
#
# Guess before the run: NaN stays NaN in `tf.clip_by_value`, `tf.nn.relu6` and `tf.maximum` with `jit_compile=True`, as
# it does without.
# Seen: TensorFlow 2.20.0 and Keras 3.15.1 on a CPU. Compiled, `clip_by_value` makes the lower limit of it and ReLU6 0;
# `maximum(x, -3)` is NaN and `maximum(-3, x)` is -3. So an SGD of Keras with `clipvalue=1` moves a weight whose
# gradient is NaN up by the whole learning rate, as if the gradient were -1, and training goes on. Without `jit_compile`
# the weight is NaN, and is seen. ReLU keeps NaN in both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np
import tensorflow as tf

values = np.zeros(8, "float32")
values[0] = np.nan
limits = {
    "clip_by_value": lambda x: tf.clip_by_value(x, -1.0, 1.0),
    "relu6": tf.nn.relu6,
    "maximum(x, -3)": lambda x: tf.maximum(x, -3.0),
    "maximum(-3, x)": lambda x: tf.maximum(-3.0, x),
    "relu": tf.nn.relu,
}


def both(function):
    """The first number of eight, which is NaN, without and with compilation."""
    found = [function(compiled) for compiled in (False, True)]
    return f"{found[0]:g}, compiled {found[1]:g}"


def weight(compiled):
    variable = keras.Variable(np.zeros(8, "float32"))
    optimizer = keras.optimizers.SGD(0.1, clipvalue=1.0)
    optimizer.build([variable])
    tf.function(lambda gradient: optimizer.apply([gradient], [variable]), jit_compile=compiled)(tf.constant(values))
    return variable.numpy()[0]


parts = []
for name, limit in limits.items():
    part = both(lambda compiled: tf.function(limit, jit_compile=compiled)(tf.constant(values)).numpy()[0])
    parts.append(f"{name} {part}")
parts.append(f"weight {both(weight)}")
print(f"tensorflow {tf.__version__}, of NaN: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 KERAS_BACKEND=tensorflow \
    "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, of NaN: clip_by_value nan, compiled -1; relu6 nan, compiled 0; maximum(x, -3) nan,\
 compiled nan; maximum(-3, x) nan, compiled -3; relu nan, compiled nan; weight nan, compiled 0.1"
