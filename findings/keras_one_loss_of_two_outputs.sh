#!/usr/bin/env bash
# Of the losses of the start and the end of an answer a subclassed Keras model reports one, under the name of both.
#
# Guess before the run: a model whose `call` returns two tensors, with one loss for both, reports two losses beside their
# sum, as it reports "accuracy" and "accuracy_1" of two metrics with one name.
# Seen: Keras 3.15.1 on JAX 0.10.2, and the same on TensorFlow 2.20.0 and PyTorch 2.13.0. Of losses of 0.693 and 5.000
# the sum is reported, 5.693, and one "sparse_categorical_crossentropy_loss" of 5.000: both have this name, and in the
# dict of results the last one stays. `history`, `EarlyStopping(monitor=)` and trackers see no other.
# Of a `call` that returns a dict of outputs all losses are reported, under their keys.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np


class Span(keras.Model):
    """The logits of start and end of two positions, given as they are."""

    def call(self, logits):
        return logits[:, 0], logits[:, 1]


logits = np.zeros((4, 2, 2), "float32")
logits[:, 1, 1] = -np.log(np.exp(5) - 1)
labels = (np.zeros(4, "int32"), np.ones(4, "int32"))
model = Span()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(loss=loss, metrics=[["accuracy"], ["accuracy"]])
results = model.evaluate(logits, labels, verbose=0, return_dict=True)
print(f"keras {keras.__version__}:", *(f"{name} {value:.3f}" for name, value in sorted(results.items())))
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: accuracy 1.000 accuracy_1 0.000 loss 5.693 sparse_categorical_crossentropy_loss 5.000"
