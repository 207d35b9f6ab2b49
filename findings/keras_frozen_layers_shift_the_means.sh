#!/usr/bin/env bash
# With `use_ema=True` a Keras layer that is frozen between two calls of `fit` gives its weights to the next layer.
#
# Guess before the run: after a first layer is frozen, `fit` keeps it as it is and ends with the means of the other
# layers, as it does without a frozen one.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. Three layers of 2 x 2 weights that are 1, 2 and 3, at a learning rate of 0, so
# that all weights and their means stay as they are. After the first one is frozen, and the model compiled again with
# the same optimizer, the next `fit` ends with 1, 1 and 2. `fit` hands the weights that are trainable now to the optimizer,
# which pairs them with its means by their places. The check of both lengths is in the code of the other backends only,
# and JAX refuses the step. A model is lost only where layers have equal shapes, as those of a BERT; else TensorFlow
# raises an error when the first layers have been overwritten.
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

ones = np.ones((4, 2), "float32")
words = []
for use_ema in (False, True):
    layers = [
        keras.layers.Dense(2, use_bias=False, kernel_initializer=keras.initializers.Constant(value))
        for value in (1.0, 2.0, 3.0)
    ]
    model = keras.Sequential([keras.Input((2,)), *layers])
    # Nothing moves.
    optimizer = keras.optimizers.SGD(0.0, use_ema=use_ema)
    model.compile(optimizer, "mse")
    model.fit(ones, ones, verbose=0)
    layers[0].trainable = False
    model.compile(optimizer, "mse")
    model.fit(ones, ones, verbose=0)
    words.append(" ".join(f"{np.mean(layer.kernel.numpy()):g}" for layer in layers))
print(f"keras {keras.__version__}: {words[0]} without means; {words[1]} with means")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 1 2 3 without means; 1 1 2 with means"
