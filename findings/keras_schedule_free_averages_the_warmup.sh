#!/usr/bin/env bash
# The average of Keras' ScheduleFreeAdamW counts the steps of a warmup like all others, so that its beginning stays.
#
# Guess before the run: as in the paper (Defazio et al. 2024) and the schedulefree package, a step counts by the
# square of its learning rate, so that those of a warmup, which have hardly moved, hardly count.
# Seen: Keras 3.15.1 on NumPy. Two hundred updates with the gradient 1, the rate growing from 0 to 1 in the first
# hundred (`warmup_steps=100`), move the last point to -150.5. By squares of the rates the average is -83.2; Keras'
# is -59.1, as each point counts the same. The weights that `predict` has lie near the average.
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

UPDATES, WARMUP, BETA = 200, 100, 0.9
weight = keras.Variable(np.zeros(1, "float32"))
optimizer = keras.optimizers.ScheduleFreeAdamW(1.0, beta_1=BETA, warmup_steps=WARMUP)
for _ in range(UPDATES):
    optimizer.apply([keras.ops.ones((1,))], [weight])
rates = np.minimum(np.arange(1, UPDATES + 1) / WARMUP, 1.0)
points = -np.cumsum(rates)
# The weights are BETA of the average and the rest of the last point.
average = (float(weight.numpy()[0]) - (1 - BETA) * points[-1]) / BETA
paper = np.sum(points * rates**2) / np.sum(rates**2)
print(f"keras {keras.__version__}: average {average:.1f}, by the paper {paper:.1f}, of equal points {points.mean():.1f}")
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: average -59.1, by the paper -83.2, of equal points -59.1"
