#!/usr/bin/env bash
# A synchronized BatchNormalization makes Keras lose the losses of `add_loss` on two replicas, without a word.
#
# Guess before the run: two replicas with half of a batch each train as one device with all of it, since
# the normalization is synchronized and the added loss is a mean.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, two logical CPUs, 20 steps of SGD. Without the normalization
# the kernel in front of the added loss is equal on one device and two. With it, one device moves the
# kernel by 0.151, two replicas by 0.034: the penalty's gradient is missing. (Where the added loss is the
# only one, `fit` ends with "No gradients provided for any variable".) The threads of the replicas share
# each layer's list of losses, and change places where they sum over the replicas.
# The models of this project keep the added losses of replicas apart (modeling/fit.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np
import tensorflow as tf

cpus = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], cpus)


class Penalized(keras.layers.Layer):
    def call(self, x):
        self.add_loss(keras.ops.mean(keras.ops.square(x)))
        return x


def kernel_after_training(strategy, normalized):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        inputs = keras.Input((4,))
        outputs = Penalized()(keras.layers.Dense(4, kernel_initializer="ones")(inputs))
        if normalized:
            outputs = keras.layers.BatchNormalization(synchronized=True)(outputs)
        model = keras.Model(inputs, outputs)
        model.compile(keras.optimizers.SGD(0.01), "mse")
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    model.fit(x, x, batch_size=8, epochs=20, shuffle=False, verbose=0)
    return model.get_weights()[0]


strategies = (tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
words = [f"keras {keras.__version__}:"]
for normalized in (False, True):
    for strategy in strategies:
        kernel = kernel_after_training(strategy, normalized)
        words.append(f"{np.abs(kernel - 1).max():.3f}")
print(*words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 0.263 0.263 0.151 0.034"
