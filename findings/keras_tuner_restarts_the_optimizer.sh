#!/usr/bin/env bash
# Hyperband of KerasTuner begins the optimizer and its learning rate anew in every round: no decay comes to its end.
#
# Guess before the run: a trial that goes into the next round goes on where it was, with the weights, the moments
# and the number of steps of its checkpoint, so that a decay over all epochs ends at 0 in the last round.
# Seen: keras-tuner 1.4.8, Keras 3.15.1, TensorFlow 2.20.0; four steps in an epoch, up to four epochs, and a decay
# from 0.1 to 0 in 16 steps. Trials that are taken over begin at epoch 1 and 2 with their weights, but at step 0 with
# a learning rate of 0.1: after all four epochs it is at 0.05. Trials that begin in the last round end at 0, so that
# the two kinds, which are ranked together, were trained differently. A warmup, as BERT's, would run in each round.
# The checkpoint has all of it: but it is loaded into a model whose optimizer is not built yet, whose variables
# Keras skips with a UserWarning.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras-tuner==1.4.8 tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import keras
import keras_tuner
import numpy as np

seen = set()


class Steps(keras.callbacks.Callback):
    """Notes the first epoch and step of each training to the last epoch, and the learning rate at its end."""

    def __init__(self):
        super().__init__()
        self.first_epoch = None

    def on_train_begin(self, logs=None):
        self.first_epoch = None
        self.first_step = int(self.model.optimizer.iterations)

    def on_epoch_begin(self, epoch, logs=None):
        if self.first_epoch is None:
            self.first_epoch = epoch

    def on_train_end(self, logs=None):
        rate = float(self.model.optimizer.learning_rate)
        seen.add((self.params["epochs"], self.first_epoch, self.first_step, round(rate, 4)))


def build(parameters):
    beta = parameters.Float("beta_1", 0.8, 0.95)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    decay = keras.optimizers.schedules.PolynomialDecay(0.1, 16, 0.0)
    model.compile(keras.optimizers.Adam(decay, beta_1=beta), "mse")
    return model


keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
y = x.sum(axis=1, keepdims=True)
tuner = keras_tuner.Hyperband(build, "val_loss", max_epochs=4, factor=2, directory=sys.argv[1], seed=1)
tuner.search(x, y, validation_data=(x, y), batch_size=8, verbose=0, callbacks=[Steps()])
words = [
    f"from epoch {first} step {step} to learning rate {rate}"
    for epochs, first, step, rate in sorted(seen)
    if epochs == 4
]
print(f"keras-tuner {importlib.metadata.version('keras-tuner')}:", ", ".join(words))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder/trials" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-tuner 1.4.8: from epoch 0 step 0 to learning rate 0.0,\
 from epoch 2 step 0 to learning rate 0.05"
