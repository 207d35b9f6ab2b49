#!/usr/bin/env bash
# An overflow on the second of two replicas makes all float16-trained weights of Keras infinite: it isn't looked for.
#
# Guess before the run: `LossScaleOptimizer`, which Keras puts around every optimizer under "mixed_float16", leaves
# a step out and halves its scale when any gradient is not finite, on whichever replica.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, two logical CPUs, SGD, a batch of four of which one gives a gradient above
# 65504. On one device, and with that row on the first of two replicas, the step is left out: the kernel stays 1
# and the scale falls to 16384. With the row on the second replica the kernel is -inf after the step, and the scale
# stays 32768. Under a MirroredStrategy the optimizer looks for infinities in the gradients of every replica, before
# they are summed, and takes the answer of the first replica for that of all.
# `fit` of this project's models looks at those of all replicas (modeling/optimizer.py), the loop of its scripts
# at their sum (bert_tf/training/step.py).
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

cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)


def after_a_step(strategy, large_row):
    x = np.ones((4, 1), "float32")
    x[large_row] = 1000.0
    with strategy.scope():
        dense = keras.layers.Dense(1, kernel_initializer="ones", dtype="mixed_float16")
        model = keras.Sequential([keras.Input((1,)), dense])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1e-3))
        model.compile(optimizer, "mse")
    model.fit(x, np.zeros_like(x), batch_size=4, shuffle=False, verbose=0)
    return f"{model.get_weights()[0][0, 0]:g}, {optimizer.dynamic_scale.numpy():g}"


strategies = {"one": tf.distribute.get_strategy(), "two": tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])}
words = []
for name, strategy in strategies.items():
    for row in (0, 3):
        words.append(f"{name}, row {row}: {after_a_step(strategy, row)}")
print(f"keras {keras.__version__}", *words, sep=" | ")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
expected="keras 3.15.1 | one, row 0: 1, 16384 | one, row 3: 1, 16384 | two, row 0: 1, 16384 | two, row 3: -inf, 32768"
test "$seen" = "$expected"
