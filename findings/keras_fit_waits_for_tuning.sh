#!/usr/bin/env bash
# Keras' fit and predict wait after their last batch for a thread that sleeps: on one core up to as long again.
#
# Guess before the run: the time of `fit` is the time of its steps. With options.autotune.enabled = False for
# the dataset nothing changes but the number of threads that prepare batches.
# Seen: Keras 3.15.1, TensorFlow 2.20.0, x86-64, one core, steps that keep it busy: of ten calls of fit six end more
# than 0.1 s after their last batch. On arrays fit of 2.2 s waits for 0.4 s, of 3.4 s for 1.8 s, of 6.6 s for 3.8 s. Ends
# are at 0.01 * (2**n - 1) s: the thread that tunes a dataset (tf_data_model) sleeps twice as long after every look,
# up to a minute, and the iterator's destructor joins it. By its source the destructor wakes the thread by a
# callback, and only afterwards sets the flag that the thread looks at when it wakes. With a second core the flag
# is mostly there in time. Without tuning no call waits.
# `fit`, `evaluate` and `predict` of this project's models read without tuning (modeling/fit.py); a fit of three
# steps of a BERT of 4 layers of 256 units took 2.58 s of one core, and takes 1.49 s.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import os
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import keras
import numpy as np
import tensorflow as tf

BATCH = 256
UNITS = 2000
# Shorter waits are those of any call.
SECONDS = 0.1


class LastBatch(keras.callbacks.Callback):
    """Notes when the last batch ended."""

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self.end = time.perf_counter()


def waits(model: keras.Model, batches: int, tuned: bool) -> bool:
    """Returns whether `fit` takes much longer than its last batch."""
    x = np.ones((BATCH * batches, UNITS), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(BATCH)
    if not tuned:
        options = tf.data.Options()
        options.autotune.enabled = False
        dataset = dataset.with_options(options)
    last = LastBatch()
    model.fit(dataset, verbose=0, callbacks=[last])
    return time.perf_counter() - last.end > SECONDS


layers = [keras.layers.Dense(UNITS, activation="relu") for _ in range(4)]
model = keras.Sequential([*layers, keras.layers.Dense(1)])
model.compile("sgd", "mse")
waits(model, 1, True)
tuned = [waits(model, batches, True) for batches in range(8, 28, 2)]
untuned = [waits(model, batches, False) for batches in range(8, 28, 2)]
print("of 10 calls wait, tuned:", sum(tuned), "untuned:", sum(untuned))
print(f"keras {keras.__version__}, tensorflow {tf.__version__}:", sum(tuned) > 2, sum(untuned) < 2)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$(tail -1 <<< "$seen")" = "keras 3.15.1, tensorflow 2.20.0: True True"
