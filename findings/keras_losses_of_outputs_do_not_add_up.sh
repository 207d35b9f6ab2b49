#!/usr/bin/env bash
# The losses of two outputs that Keras reports do not add up to the loss it reports, on TensorFlow.
#
# Guess before the run: in `history` the loss of a model with two outputs is the sum of the losses of the outputs, since
# each is a mean over all rows; on every backend.
# Seen: Keras 3.15.1, five rows in batches of four and one, with losses of 1 and 9 for each output. On JAX 0.10.2 each
# output is reported with 2.6 and the model with 5.2, the mean over the rows. On TensorFlow 2.20.0 the model has
# 5.2 and each output 5.0: the mean of the two batches, in which the last row weighs as much as the other four. Keras
# takes the number of rows from the static shape, which TensorFlow's `fit` does not know as long as the last
# batch may be smaller; the total takes it from the batch itself. So "val_nsp_loss" and the like of a callback move with
# the rows that are left over.
# This project weights each of its losses by what it was divided by (modeling/fit.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

x = np.array([1.0, 1.0, 1.0, 1.0, 3.0])[:, None]
inputs = keras.Input((1,))
outputs = [keras.layers.Dense(1, kernel_initializer="ones", name=name)(inputs) for name in ("mlm", "nsp")]
model = keras.Model(inputs, outputs)
model.compile("sgd", ["mse", "mse"])
losses = model.evaluate(x, [0.0 * x, 0.0 * x], batch_size=4, verbose=0, return_dict=True)
mlm, nsp, total = losses["mlm_loss"], losses["nsp_loss"], losses["loss"]
print(f"{keras.backend.backend()} {mlm:.1f} + {nsp:.1f} = {total:.1f}")
PYTHON
seen="keras 3.15.1:"
for backend in jax tensorflow; do
    sum=$(KERAS_BACKEND=$backend TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
    seen="$seen $sum"
done
echo "$seen"
test "$seen" = "keras 3.15.1: jax 2.6 + 2.6 = 5.2 tensorflow 5.0 + 5.0 = 5.2"
