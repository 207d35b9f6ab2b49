#!/usr/bin/env bash
# Under "mixed_bfloat16" the gradient of a bias on TensorFlow's CPU counts no further than about 256 rows.
#
# Guess before the run: the sum over the rows of a batch is taken in float32 and rounded once, as that of the kernel's
# gradient, or of `tf.reduce_sum`: 2^12 is exact in bfloat16.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, x86-64, a Dense layer of four units, 4,096 rows whose gradients are 1, one
# step of SGD with rate 1. The kernel, of inputs 1, moves by 4096 in every precision; the bias by 4096 in float32 and
# float16, by 256 in bfloat16, where adding 1 to 256 is lost. TensorFlow's BiasAddGrad has a wider type for its sums for
# float16 only on CPUs (bias_op.cc), for both on GPUs; Keras adds a bias of more than one unit by BiasAdd. Numbers of
# both signs lose less: of 8,192 normal numbers the sum is off by 8 %, that of `tf.reduce_sum` by 0.14 %. In a BERT
# with 32 rows of 128 tokens biases get 28 % to 67 % of the length of their gradients. XLA sums in float32.
# The layers of this project sum them in float32 (modeling/layers.py).
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
import numpy as np
import tensorflow as tf

ROWS = 4096
words = [f"keras {keras.__version__}, tensorflow {tf.__version__}"]
for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
    dense = keras.layers.Dense(4, kernel_initializer="zeros", dtype=policy)
    model = keras.Sequential([keras.Input((1,)), dense])
    # The sum over the batch, whose gradient is 1 for each row and unit.
    loss = keras.losses.Loss(reduction="sum")
    loss.call = lambda y_true, y_pred: keras.ops.sum(y_pred, axis=-1)
    optimizer = keras.optimizers.SGD(1.0)
    # Keras would put a loss scale around it for float16.
    model.compile(optimizer, loss, auto_scale_loss=False, jit_compile=False)
    model.fit(np.ones((ROWS, 1)), np.zeros((ROWS, 4)), batch_size=ROWS, verbose=0)
    kernel, bias = model.get_weights()
    words.append(f"{policy}: kernel {-kernel[0, 0]:g}, bias {-bias[0]:g}")
print(*words, sep=" | ")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
expected="keras 3.15.1, tensorflow 2.20.0 | float32: kernel 4096, bias 4096 | mixed_float16: kernel 4096, bias 4096"
test "$seen" = "$expected | mixed_bfloat16: kernel 4096, bias 256"
