#!/usr/bin/env bash
# Weights that no gradient holds do not decay to zero in Keras' ScheduleFreeAdamW: the decay is taken back.
#
# Guess before the run: with gradients of zero, `weight_decay` 0.1 and rate 0.1, every update takes a hundredth,
# as AdamW's does (after 1,000 updates 0.00004 are left), from the points that the optimizer keeps as well.
# Seen: Keras 3.15.1 on NumPy, and alike on JAX: after 10, 100 and 1,000 updates 0.956, 0.634 and 0.100 are
# left, and no more goes. The decay is taken from the weights, but not from the point that the gradients move,
# which stays at 1 and is a tenth of the weights (1 - `beta_1`). In the schedulefree package (1.4.1) that point
# decays, too. A `weight_decay` from an AdamW recipe is another one here.
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


def left(kind, updates):
    weight = keras.Variable(np.ones(1, "float32"))
    optimizer = kind(0.1, weight_decay=0.1)
    for _ in range(updates):
        optimizer.apply([keras.ops.zeros((1,))], [weight])
    return float(weight.numpy()[0])


seen = [f"keras {keras.__version__}:"]
for kind in (keras.optimizers.ScheduleFreeAdamW, keras.optimizers.AdamW):
    numbers = ", ".join(f"{left(kind, updates):.5f}" for updates in (10, 100, 1000))
    seen.append(f"{kind.__name__} {numbers};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: ScheduleFreeAdamW 0.95618, 0.63397, 0.10000; AdamW 0.90438, 0.36603, 0.00004;"
