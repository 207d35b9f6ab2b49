#!/usr/bin/env bash
# `BackupAndRestore(save_freq=5)` of Keras writes the number of the batch and never reads it: batches are trained twice.
#
# Guess before the run: an epoch of ten batches that is interrupted after the eighth and restored goes on behind the
# fifth, where the last backup was made, and ends with ten updates.
# Seen: Keras 3.15.1 on JAX 0.10.2, and alike on TensorFlow 2.20.0. It begins again with the first batch: fifteen
# updates, five of them for the second time, and a schedule that is five steps ahead. The weights and the step of the
# backup are those after five batches (number 4 is the fifth), and its training_metadata.json says so, but only
# "epoch" is read from there. A job that is stopped in every epoch, and does not shuffle, never gets to the end of
# its data.
# The scripts of this project go on with the batch that would have come (docs/pretraining.md).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import json
import pathlib
import sys

import keras
import numpy as np

backup = pathlib.Path(sys.argv[1])


class Interruption(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 7:
            raise KeyboardInterrupt


def train(*callbacks):
    # Row n adds 2 to the power of n to the weight.
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    loss = keras.losses.Loss(reduction="sum")
    loss.call = lambda y_true, y_pred: -keras.ops.sum(y_true * y_pred, axis=-1)
    model.compile(keras.optimizers.SGD(1.0), loss)
    rows = 2.0 ** np.arange(10)[:, None]
    callbacks = [keras.callbacks.BackupAndRestore(backup, save_freq=5), *callbacks]
    model.fit(np.ones((10, 1)), rows, batch_size=1, shuffle=False, verbose=0, callbacks=callbacks)
    return model


try:
    train(Interruption())
except KeyboardInterrupt:
    pass
batch = json.loads((backup / "training_metadata.json").read_text())["batch"]
model = train()
updates = int(model.optimizer.iterations)
weight = model.get_weights()[0][0, 0]
print(f"keras {keras.__version__}: saved after batch {batch}, {updates} updates, sum {weight:g}, once each {2**10 - 1}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder/backup" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: saved after batch 4, 15 updates, sum 1054, once each 1023"
