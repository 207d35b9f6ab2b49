#!/usr/bin/env bash
# Under a MirroredStrategy `predict_on_batch` of Keras returns every row once for each device.
#
# Guess before the run: on two devices `train_on_batch`, `test_on_batch` and `predict_on_batch` share their batch out, as
# `fit`, `evaluate` and `predict` do: each device computes the half of the rows.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, two logical CPUs. Every device gets the whole batch. Of 6 rows
# `predict_on_batch` returns 12, the 6 twice, where `predict` returns 6, and nothing says that there are too many: means
# over a corpus, or a file with a line for each vector, go wrong from the second batch on. `train_on_batch` and
# `test_on_batch` compute 6 rows on each device, too, where `evaluate` has 3: a second device saves neither time nor
# memory, and dropout is drawn for other examples than on one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 tensorflow-cpu==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
PATH = __file__ + ".rows"


class Counted(keras.layers.Layer):
    def call(self, x):
        tf.print("rows", tf.shape(x)[0], output_stream="file://" + PATH)
        return x


texts = np.arange(6, dtype="float32")[:, None]
labels = np.array([0, 0, 1, 1, 1, 1], "float32")[:, None]
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    inputs = keras.Input((1,))
    outputs = keras.layers.Dense(1, kernel_initializer="ones", activation="sigmoid")(Counted()(inputs))
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy", metrics=["mae"])


def rows_of(call):
    open(PATH, "w").close()
    result = call()
    with open(PATH) as file:
        return result, [int(line.split()[1]) for line in file]


seen = []
for name, arguments, more in (
    ("predict", (texts,), {"batch_size": 6, "verbose": 0}),
    ("predict_on_batch", (texts,), {}),
    ("evaluate", (texts, labels), {"batch_size": 6, "verbose": 0}),
    ("test_on_batch", (texts, labels), {}),
    ("train_on_batch", (texts, labels), {}),
):
    result, counted = rows_of(lambda: getattr(model, name)(*arguments, **more))
    what = f"{len(result)} rows" if "predict" in name else f"loss {result[0]:.2f}"
    seen.append(f"{name} {what} of {counted}")
twice = model.predict_on_batch(texts)
same = np.array_equal(twice[:6], twice[6:])
print(f"Keras {keras.__version__}: {'; '.join(seen)}; both halves equal: {same}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Keras 3.15.1: predict 6 rows of [3, 3]; predict_on_batch 12 rows of [6, 6]; evaluate loss 0.37 of [3, 3];\
 test_on_batch loss 0.37 of [6, 6]; train_on_batch loss 0.37 of [6, 6]; both halves equal: True"
