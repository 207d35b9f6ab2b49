#!/usr/bin/env bash
# The gradient of `tf.nn.selu` at 0 is 1.05, and 1.76 under `jit_compile`: units that are 0 train two thirds faster.
#
# Guess before the run: an activation has one gradient at each point, whether the step is compiled or not.
# Seen: tensorflow 2.20.0. At 0 plain TensorFlow takes the slope of the right side, 1.0507, XLA the slope of the left
# side, 1.7581. On both sides of 0, and for elu and relu at 0, both are the same. Zeros are not rare: the first step of
# a layer whose kernel is 0 (LoRA, adapters) or whose inputs are dropped or padded has nothing else, so that its bias
# moves as far as the choice of the compiler says.
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

points = tf.constant([0.0, 1e-3, -1e-3])


def slopes(activation):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = activation(x)
        return tape.gradient(y, x)

    plain = gradient(points).numpy()
    compiled = tf.function(gradient, jit_compile=True, autograph=False)(points).numpy()
    return plain, compiled


plain, compiled = slopes(tf.nn.selu)
others = [np.allclose(*slopes(activation)) for activation in (tf.nn.elu, tf.nn.relu)]
print(
    f"tensorflow {tf.__version__}, slopes of selu at 0, .001, -.001: plain {np.round(plain, 3)},",
    f"compiled {np.round(compiled, 3)}; elu and relu are the same: {all(others)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, slopes of selu at 0, .001, -.001: plain [1.051 1.051 1.756], compiled [1.758 \
1.051 1.756]; elu and relu are the same: True"
