#!/usr/bin/env bash
# Before SWA of TensorFlow Addons has taken its first average, a checkpoint of the average is a model of zeros.
#
# Guess before the run: with `SWA(optimizer, start_averaging=20)` and AverageModelCheckpoint, "the saved model uses
# the average weights", a checkpoint that is written before the 20th step has the weights as they are: nothing is
# averaged yet.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. The averages begin as zeros, and are what is saved: of four
# epochs of 8 steps the files of the first two hold zeros only, biases and LayerNorms included, and predict the same
# for every text. With `update_weights=True`, or `assign_average_vars` at an early end, the model itself is zeros.
# MovingAverage begins with the weights.
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
import sys

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

tf.keras.utils.set_random_seed(0)
texts = np.random.default_rng(0).normal(size=(64, 16)).astype("float32")
labels = (texts[:, :1] > 0).astype("float32")


def sizes(make):
    """Lengths of all weights in the checkpoints of four epochs of 8 steps each."""
    layers = [tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.LayerNormalization(), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential([tf.keras.Input((16,)), *layers])
    model.compile(make(tf.keras.optimizers.legacy.Adam()), tf.keras.losses.BinaryCrossentropy(from_logits=True))
    path = sys.argv[1] + "/{epoch}.h5"
    keep = tfa.callbacks.AverageModelCheckpoint(update_weights=False, filepath=path, save_weights_only=True)
    model.fit(texts, labels, batch_size=8, epochs=4, verbose=0, callbacks=[keep])
    lengths = []
    for epoch in range(1, 5):
        model.load_weights(path.format(epoch=epoch))
        lengths.append(f"{float(tf.linalg.global_norm(model.trainable_weights)):.1f}")
    return " ".join(lengths)


swa = sizes(lambda optimizer: tfa.optimizers.SWA(optimizer, start_averaging=20, average_period=1))
moving = sizes(lambda optimizer: tfa.optimizers.MovingAverage(optimizer, start_step=20))
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"lengths of the weights that are saved after each epoch: SWA {swa}, MovingAverage {moving}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, lengths of the weights that are saved after each epoch:\
 SWA 0.0 0.0 4.3 4.3, MovingAverage 4.4 4.4 4.4 4.4"
