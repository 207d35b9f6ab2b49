#!/usr/bin/env bash
# `beta_1` of Keras' ScheduleFreeAdamW does nothing on TensorFlow: it takes the gradients at another point there than on JAX.
#
# Guess before the run: the same optimizer gives the same weights on all backends, up to rounding, as Adam, LAMB,
# Muon and eleven others do; the weights of training lie between the average and the last point, as its page says.
# Seen: Keras 3.15.1. Ten updates of rate 1 with the gradient 1 move the last point to -10; their average is -5.5.
# With `beta_1` 0.9 the weights are 0.9 of the one and 0.1 of the other on JAX (and NumPy), -5.95, with 0.5 -7.75.
# On TensorFlow (in `fit`, compiled or not, too) and torch 2.13 they are -5.5 with both: the average alone, at which
# the next gradients are taken, so that the method is no longer the one of its paper. There a variable's value
# before the update is read only after it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np


def moved(beta_1):
    weight = keras.Variable(np.zeros(1, "float32"))
    optimizer = keras.optimizers.ScheduleFreeAdamW(1.0, beta_1=beta_1)
    for _ in range(10):
        optimizer.apply([keras.ops.ones((1,))], [weight])
    return float(keras.ops.convert_to_numpy(weight)[0])


print(f"{keras.backend.backend()} {moved(0.9):.2f} {moved(0.5):.2f}")
PYTHON
seen="keras"
for backend in jax tensorflow; do
    seen="$seen, $(KERAS_BACKEND=$backend TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" | tail -1)"
done
echo "$seen"
test "$seen" = "keras, jax -5.95 -7.75, tensorflow -5.50 -5.50"
