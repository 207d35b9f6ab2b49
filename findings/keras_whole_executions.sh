#!/usr/bin/env bash
# Of Keras with `steps_per_execution=16` ten steps are sixteen: a schedule ends early, `predict` has more rows.
#
# Guess before the run: `fit` with steps_per_epoch=10 on an endless stream of batches, as pre-training has,
# trains ten batches in an epoch. The page of `compile` says of a larger number that "the execution will be
# truncated to the size of the epoch".
# Seen: Keras 3.15.1, TensorFlow 2.20.0 and JAX 0.10.2 alike. Two epochs of ten steps are 20 updates with
# steps_per_execution=1, 24 with 3 and 32 with 16, and `predict` with steps=10 of batches of 4 rows returns
# 40, 48 and 64 rows. A rate that falls to 0 over the 20 steps stays at 0 for the rest. Only a dataset that
# ends truncates the last execution. (Nothing is said in any of these cases.)
# `fit` of this project's models is Keras' and does the same (docs/keras.md).
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


def batches():
    while True:
        yield np.ones((4, 1), "float32"), np.ones((4, 1), "float32")


seen = [f"{keras.backend.backend()}:"]
for steps in (1, 3, 16):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.PolynomialDecay(0.1, decay_steps=20, end_learning_rate=0.0)
    model.compile(keras.optimizers.SGD(rate), "mse", steps_per_execution=steps)
    model.fit(batches(), steps_per_epoch=10, epochs=2, verbose=0)
    rows = len(model.predict(batches(), steps=10, verbose=0))
    seen.append(f"{int(model.optimizer.iterations)} updates {rows} rows;")
print(*seen)
PYTHON
seen="keras 3.15.1"
for backend in tensorflow jax; do
    seen="$seen $(KERAS_BACKEND=$backend TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)"
done
echo "$seen"
same="20 updates 40 rows; 24 updates 48 rows; 32 updates 64 rows;"
test "$seen" = "keras 3.15.1 tensorflow: $same jax: $same"
