#!/usr/bin/env bash
# `relative_step=False` of Keras' Adafactor changes nothing: the rate falls with the square root of the step all the same.
#
# Guess before the run: `relative_step=True` lets a constant rate fall as min(rate, 1 / sqrt(step)), the schedule of
# the paper; without it, 400 updates of rate 0.1 make a weight 1.1 times as large each time (updates are relative to
# the weight), 38.1 in its logarithm, and with a schedule of one's own the rate is that schedule's.
# Seen: Keras 3.15.1: the logarithm grows by 28.8 with both, and with a constant schedule. Whatever the argument, the
# step is limited by 1 / sqrt(step): a rate of 0.1 is cut from the 101st update on, and a schedule's warmup to 0.1 over
# 1,000 updates from the 465th.
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

UPDATES, RATE = 400, 0.1


def growth(rate, **settings):
    weight = keras.Variable(np.ones(1, "float32"))
    optimizer = keras.optimizers.Adafactor(rate, **settings)
    for _ in range(UPDATES):
        optimizer.apply([-keras.ops.ones((1,))], [weight])
    return float(np.log(weight.numpy()[0]))


constant = keras.optimizers.schedules.PiecewiseConstantDecay([UPDATES], [RATE, RATE])
seen = [growth(RATE, relative_step=True), growth(RATE, relative_step=False), growth(constant, relative_step=False)]
print(f"keras {keras.__version__}:", *(f"{number:.1f}" for number in seen), f"{UPDATES * np.log(1 + RATE):.1f}")
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 28.8 28.8 28.8 38.1"
