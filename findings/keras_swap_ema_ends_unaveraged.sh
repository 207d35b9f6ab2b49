#!/usr/bin/env bash
# Where Keras' training stops early, `SwapEMAWeights` makes it end with the weights that it is there to replace.
#
# Guess before the run: a training that a callback stops after three epochs of five ends with the averaged weights, as
# it does without `SwapEMAWeights(swap_on_epoch=True)`, and as three epochs of three do with it. `predict` with the
# callback uses the averages and leaves the weights as they were, as `evaluate` does.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. A weight that rises by 1 in each epoch, with a momentum of 0.5, ends at its
# average, 2.25, in every case but that of early stopping and the callback together: there it is 3. The callback holds
# the averages in the model between epochs, and readies the optimizer for the end of `fit`, which copies them once more,
# in the epoch of the highest number only: else what is copied are the weights that were swapped away. After `predict`
# it never swaps back: the model keeps the averages, and training goes on from them.
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

one = np.ones((1, 1), "float32")


class StopAfterThree(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = epoch == 2


def trained(epochs, *callbacks):
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    # The gradient is -1.
    model.compile(keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5), lambda _, scores: -scores)
    model.fit(one, one, epochs=epochs, verbose=0, callbacks=list(callbacks))
    return model


def weight(model):
    return f"{model.layers[0].kernel.numpy()[0, 0]:g}"


def swap():
    return keras.callbacks.SwapEMAWeights(swap_on_epoch=True)


words = [f"keras {keras.__version__}: three epochs", weight(trained(3)), weight(trained(3, swap())) + ","]
words += ["stopped", weight(trained(5, StopAfterThree())), weight(trained(5, swap(), StopAfterThree())) + ","]
model = trained(3)
model.train_on_batch(one, one)
words += ["a batch later", weight(model)]
model.evaluate(one, one, verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()])
words += ["evaluated", weight(model)]
model.predict(one, verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()])
words += ["predicted", weight(model)]
print(*words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: three epochs 2.25 2.25, stopped 2.25 3, a batch later 3.25 evaluated 3.25 predicted 2.75"
