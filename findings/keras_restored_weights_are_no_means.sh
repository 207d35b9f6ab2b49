#!/usr/bin/env bash
# `EarlyStopping(restore_best_weights=True)` of Keras takes the means of `use_ema` away, also where nothing stops early.
#
# Guess before the run: a training whose last epoch is the best ends with the means of the weights under
# `use_ema=True`, with that callback or without it: it has nothing to restore.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. A weight that rises by 1 in each of three epochs, with a momentum of .5, ends
# at its mean, 2.25, and with the callback at 3, though its patience of 10 is never used up. `fit` sets the means first
# and tells callbacks of the end afterwards; this one then sets the weights that it kept at the end of the best epoch, which
# are never means. Without the argument it is 2.25.
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


def weight(**arguments):
    dense = keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input((1,)), dense])
    # The gradient is -1.
    model.compile(keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5), lambda _, scores: -scores)
    callbacks = [keras.callbacks.EarlyStopping("loss", patience=10, **arguments)] if arguments else []
    losses = model.fit(one, one, epochs=3, verbose=0, callbacks=callbacks).history["loss"]
    assert losses[2] == min(losses)
    return f"{dense.kernel.numpy()[0, 0]:g}"


print(
    f"keras {keras.__version__}: no callback {weight()}, EarlyStopping {weight(restore_best_weights=False)},",
    f"restoring {weight(restore_best_weights=True)}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: no callback 2.25, EarlyStopping 2.25, restoring 3"
