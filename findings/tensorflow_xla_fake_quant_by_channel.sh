#!/usr/bin/env bash
# Trained with fake quantization by channel, weights differ by a step under `jit_compile`, and other ones learn.
#
# Guess before the run: with limits that are the largest weight of a channel and its negative, as usual, the operation
# rounds in the same way compiled or not, and its gradient is 1 within the limits.
# Seen: tensorflow 2.20.0 on a CPU. Within -1 and 1 zero falls between two of the 256 steps, and the range is moved by
# half a step so that zero is one of them: up in plain TensorFlow, down when compiled. The weight -1 is -.996 in both,
# with the gradient 0 and 1. The weight 1 is 1.004 with the gradient 1, and .996 with the gradient 0. Of 1,000 channels
# of random weights 24 % differ. The operation without channels moves up in both. A network that is trained under XLA
# and evaluated without it has other weights, and one end of a channel never learns.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf


def quantize(x, limits):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.quantization.fake_quant_with_min_max_vars_per_channel(x, -limits, limits)
    return y, tape.gradient(y, x)


def both(x, limits):
    for jit in (False, True):
        yield [one.numpy() for one in tf.function(quantize, jit_compile=jit)(x, limits)]


for y, slope in both(tf.constant([[-1.0], [0.3], [1.0]]), tf.constant([1.0])):
    print(f"tensorflow {tf.__version__}:", *[f"{one:.3f} ({g:.0f})" for one, g in zip(y[:, 0], slope[:, 0])])
weights = tf.constant(np.random.default_rng(0).normal(size=(64, 1000)).astype("float32"))
(plain, _), (compiled, _) = both(weights, tf.reduce_max(tf.abs(weights), 0))
print(f"channels that differ: {(np.abs(plain - compiled).max(0) > 1e-3).mean():.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: -0.996 (0) 0.298 (1) 1.004 (1)
tensorflow 2.20.0: -0.996 (1) 0.298 (1) 0.996 (0)
channels that differ: 0.24"
