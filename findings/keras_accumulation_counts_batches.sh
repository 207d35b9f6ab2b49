#!/usr/bin/env bash
# With `gradient_accumulation_steps=4` Keras' learning rate falls four times as fast, and its average forgets
# four times as fast, while the rest of the optimizer counts updates.
#
# Guess before the run: 12 updates of four batches each have the rates, and the average, of 12 updates of one
# large batch with the same gradient: the optimizer's `iterations` are 12 in both.
# Seen: Keras 3.15.1 on NumPy, and alike on TensorFlow 2.20.0. A rate that falls from 1 to 0 over 12 steps
# moves a weight with gradient -1 by 6.5 in 12 updates of one batch, by 1.25 in 12 updates of four: the
# schedule gets the number of the batch, so that the first update has the rate of step 3 and the last nine
# have rate 0. The average of `use_ema` moves with every batch, and ends at 9.4 instead of 5.8. `iterations`,
# the bias correction of Adam and `ema_overwrite_frequency` count updates.
# A schedule must be made for four times the steps then, also with the optimizers of this project in `fit`
# (docs/keras.md); its scripts count updates.
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

gradient = keras.ops.convert_to_tensor(np.array([-1.0], "float32"))


def after(updates, batches_per_update, rate, **settings):
    weight = keras.Variable(np.zeros(1, "float32"))
    optimizer = keras.optimizers.SGD(rate, gradient_accumulation_steps=batches_per_update, **settings)
    for _ in range(updates * (batches_per_update or 1)):
        optimizer.apply([gradient], [weight])
    optimizer.finalize_variable_values([weight])
    return int(optimizer.iterations), float(weight.numpy()[0])


seen = [f"keras {keras.__version__}:"]
for batches_per_update in (None, 4):
    decay = keras.optimizers.schedules.PolynomialDecay(1.0, decay_steps=12, end_learning_rate=0.0)
    updates, moved = after(12, batches_per_update, decay)
    _, average = after(12, batches_per_update, 1.0, use_ema=True, ema_momentum=0.9)
    seen.append(f"{updates} updates, moved {moved:.3f}, average {average:.3f};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 12 updates, moved 6.500, average 5.824; 12 updates, moved 1.250, average 9.408;"
