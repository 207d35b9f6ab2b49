#!/usr/bin/env bash
# Keras' Dropout(0.01) under mixed_bfloat16 drops 1.6 % of the units on TensorFlow and 1 % on JAX.
#
# Guess before the run: the precision of a layer rounds the numbers that it returns, and not the share of
# those that it drops.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0 and on JAX, ones of shape [1000, 4000]. In float32 both drop the rate. In
# bfloat16 JAX drops 0.100, 0.010 and 0.002 as it was told, TensorFlow 0.101, 0.016 and 0.008: it draws the random
# numbers in the type of the input, bfloat16 has 128 of them below 1, and those below the rate are dropped, the zero
# among them: a rate is rounded up to the next 128th. The kept units are still scaled for the rate that was
# asked, so that the mean of what comes out falls, by 0.3 % at the rate of the paper, 0.1, in each of a BERT's
# dropouts. float16 has 1,024 numbers.
# The models of this project compare whole numbers of 32 bits in every precision (modeling/dropout.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow==2.20.0 keras==3.15.1 jax==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

shares = []
for rate in (0.1, 0.01, 0.002):
    layer = keras.layers.Dropout(rate, seed=1, dtype="mixed_bfloat16")
    output = layer(keras.ops.ones((1000, 4000)), training=True)
    shares.append(float(np.mean(keras.ops.convert_to_numpy(keras.ops.cast(output, "float32")) == 0)))
print(f"{keras.backend.backend()} drops {shares[0]:.3f}, {shares[1]:.3f}, {shares[2]:.3f}", end="")
PYTHON
seen="keras 3.15.1, rates 0.1, 0.01, 0.002:"
for backend in tensorflow jax; do
  seen="$seen $(KERAS_BACKEND=$backend TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null);"
done
echo "$seen"
test "$seen" = "keras 3.15.1, rates 0.1, 0.01, 0.002: tensorflow drops 0.101, 0.016, 0.008; jax drops 0.100, 0.010, 0.002;"
