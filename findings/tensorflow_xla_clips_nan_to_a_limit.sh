#!/usr/bin/env bash
# With clipped gradients one NaN is a step of full size under `jit_compile`: `tf.clip_by_value(nan, -1, 1)` is -1.
#
# Guess before the run: NaN stays NaN in `tf.clip_by_value`, `tf.nn.relu6` and `tf.maximum` with `jit_compile=True`, as
# it does without.
# Seen: TensorFlow 2.20.0 and Keras 3.15.1 on a CPU. Compiled, `clip_by_value` makes the lower limit of it, ReLU6 0, and
# `maximum` and `minimum` the other number. So an SGD of Keras with `clipvalue=1` moves a weight whose gradient is NaN
# by the whole learning rate upward, as if the gradient were -1, and the training goes on; without `jit_compile` the
# weight is NaN, and is seen. ReLU keeps NaN in both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import tensorflow as tf

nan = tf.constant([float("nan")])
limits = {
    "clip_by_value": lambda: tf.clip_by_value(nan, -1.0, 1.0),
    "relu6": lambda: tf.nn.relu6(nan),
    "maximum": lambda: tf.maximum(nan, -3.0),
    "minimum": lambda: tf.minimum(nan, 3.0),
    "relu": lambda: tf.nn.relu(nan),
}
parts = []
for name, limit in limits.items():
    values = [tf.function(limit, jit_compile=compiled)().numpy().item() for compiled in (False, True)]
    parts.append(f"{name} {values[0]:g}, compiled {values[1]:g}")
weights = []
for compiled in (False, True):
    weight = keras.Variable([0.0])
    optimizer = keras.optimizers.SGD(0.1, clipvalue=1.0)
    optimizer.build([weight])
    tf.function(lambda: optimizer.apply([nan], [weight]), jit_compile=compiled)()
    weights.append(weight.numpy().item())
parts.append(f"weight {weights[0]:g}, compiled {weights[1]:g}")
print(f"tensorflow {tf.__version__}, of NaN: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 \
    "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, of NaN: clip_by_value nan, compiled nan; relu6 nan, compiled 0; maximum nan,\
 compiled nan; minimum nan, compiled nan; relu nan, compiled nan; weight nan, compiled nan"
