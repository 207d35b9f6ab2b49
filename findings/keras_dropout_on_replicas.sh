#!/usr/bin/env bash
# Keras' own dropout drops the same units of the examples on every replica of a MirroredStrategy.
#
# Guess before the run: as in Keras 2, each replica draws its own mask, so that two replicas with the
# same input give different outputs in nearly every call.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, two logical CPUs: the two replicas' masks are equal in all
# of 20 calls, and differ from call to call. Two examples at the same place on two replicas lose the
# same units, so that the noise of a batch is that of one replica's part.
# The models of this project draw by the number of the example in the batch instead
# (modeling/dropout.py).
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
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    layer = keras.layers.Dropout(0.5, seed=1)


@tf.function
def call():
    return strategy.run(lambda: layer(tf.ones((1, 64)), training=True))


masks = []
for _ in range(20):
    first, second = strategy.experimental_local_results(call())
    masks.append((first.numpy() > 0, second.numpy() > 0))
equal = sum(np.array_equal(first, second) for first, second in masks)
steps = {first.tobytes() for first, _ in masks}
print(f"keras {keras.__version__}: equal on both replicas in {equal} of 20 calls, {len(steps)} different masks")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: equal on both replicas in 20 of 20 calls, 20 different masks"
