#!/usr/bin/env bash
# On a dataset of unknown size Keras' `fit` counts a step more in every epoch: a schedule ends early.
#
# Guess before the run: four epochs of five batches are twenty steps, with the same rates and weights, whether or
# not the dataset knows how many batches it has.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, on a CPU. With a rate that falls to zero in twenty steps the same batches
# end at 20 iterations with a loss of 4.97, and after a `filter` that keeps everything at 24 with 5.35. A dataset
# from TFRecords, lines of text or a generator is of this kind. Keras finds its end by running the step, in which
# reading the batch fails; `iterations += 1` of the optimizer does not need the batch, and is done, as are the counters
# of Dropout, which draws other masks from then on. Epochs after the first know the number, and it has the failed
# step in it. A step that XLA compiles gets its batch from outside, and is not begun.
# With the optimizers and models of this project these wait for the batch (modeling/optimizer.py, dropout.py).
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

x = np.random.default_rng(0).normal(size=(40, 8)).astype("float32")
known = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(8)


def trained(dataset):
    keras.utils.set_random_seed(1)
    dropout = keras.layers.Dropout(0.1)
    layers = [keras.layers.Dense(16, activation="relu"), dropout, keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((8,)), *layers])
    rate = keras.optimizers.schedules.PolynomialDecay(1e-2, 20, 0.0)
    model.compile(keras.optimizers.Adam(rate), "mse")
    model.fit(dataset, epochs=4, verbose=0)
    loss = model.evaluate(known, verbose=0)
    masks = int(dropout.seed_generator.state.numpy()[1])
    return f"{int(model.optimizer.iterations)} iterations, {masks} masks, loss {loss:.2f}"


unknown = known.filter(lambda x, y: True)
print(f"keras {keras.__version__} | known {trained(known)} | unknown {trained(unknown)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 | known 20 iterations, 20 masks, loss 4.97 | unknown 24 iterations, 24 masks, loss 5.35"
