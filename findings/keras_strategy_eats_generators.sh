#!/usr/bin/env bash
# Under a strategy Keras' `fit` and `evaluate` see the first two of the five batches of a generator.
#
# Guess before the run: a generator of five batches is five batches, on one device and on the two of a
# MirroredStrategy, or it is refused there.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, logical CPUs: batches 1 to 5 without a strategy, 1 and 2 with one, of
# one device as of two, and `fit` and `evaluate` end as if that were all; `predict` sees all five. A PyDataset with
# two workers loses none, and begins with its fourth or last batch. To build what a model lacks, Keras reads a batch under a
# strategy, by an iterator of its own: the dataset around the generator has read ahead by then, how far is a matter of
# time, and what it has is dropped with it. The two that are left are those that Keras keeps from a look at the shapes.
# The models of this project are built from the shapes alone (modeling/task_model.py).
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


def batches():
    for number in range(1, 6):
        yield np.full((2, 1), number, "float32"), np.zeros((2, 1), "float32")


class Workers(keras.utils.PyDataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return list(batches())[index]


class Seen(keras.metrics.Metric):
    """The numbers of the batches, as digits."""

    def __init__(self):
        super().__init__(name="seen")
        self.digits = self.add_variable((), "zeros", name="digits")

    def update_state(self, y_true, y_pred, sample_weight=None):
        # Each replica has a variable of its own, and has one row of a batch.
        self.digits.assign(10 * self.digits + keras.ops.max(y_pred) / REPLICAS)

    def result(self):
        return self.digits


words = [f"keras {keras.__version__}"]
for devices in ([], ["CPU:0"], ["CPU:0", "CPU:1"]):
    strategy = tf.distribute.MirroredStrategy(devices) if devices else tf.distribute.get_strategy()
    REPLICAS = strategy.num_replicas_in_sync
    found = []
    for data in (batches(), Workers(workers=2)):
        with strategy.scope():
            model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
            model.compile(loss="mse", metrics=[Seen()])
        seen = f"{model.evaluate(data, verbose=0, return_dict=True)['seen']:.0f}"
        print(len(devices), seen)
        # How far was read ahead is a matter of time.
        if seen == "12345":
            found.append("all")
        else:
            found.append("not all" if len(seen) < 5 else "in another order")
    words.append(f"{len(devices)} devices: generator {found[0]}, workers {found[1]}")
print(*words, sep=" | ")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
expected="keras 3.15.1 | 0 devices: generator all, workers all | 1 devices: generator not all, workers in another order"
test "$seen" = "$expected | 2 devices: generator not all, workers in another order"
