#!/usr/bin/env bash
# Under "mixed_bfloat16" on JAX a word that occurs 4,096 times in a batch gets the gradient of 256 of them.
#
# Guess before the run: the gradients of a word's places are summed in float32, in which the table is stored, or
# at least rounded once, as on Keras' other backends.
# Seen: Keras 3.15.1, 4,096 times the same word with gradients of 1, one step of SGD with rate 1. The row moves by 4096
# in float32, and in bfloat16 on TensorFlow 2.20.0 and torch 2.13.0. On JAX 0.10.2, on a CPU, it moves by 256: Keras
# reads the table in bfloat16 before the lookup, so that the lookup's gradient is a table of bfloat16, to which the
# places are added one after the other, and 256 + 1 is 256 there. TensorFlow keeps the rows apart until they are float32
# again. The two rows of a segment embedding, which every token of a batch adds to, are hit first.
# The models of this project look words up in float32 and round afterwards (modeling/encoder.py).
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

words = [f"keras {keras.__version__}:"]
for policy in ("float32", "mixed_bfloat16"):
    table = keras.layers.Embedding(3, 4, embeddings_initializer="zeros", dtype=policy)
    model = keras.Sequential([keras.Input((512,), dtype="int32"), table])
    # The sum over the batch, whose gradient is 1 for each place and unit.
    loss = keras.losses.Loss(reduction="sum")
    loss.call = lambda y_true, y_pred: keras.ops.sum(y_pred, axis=(1, 2))
    model.compile(keras.optimizers.SGD(1.0), loss)
    ids = np.ones((8, 512), "int32")
    model.fit(ids, np.zeros((8, 512, 4)), batch_size=8, verbose=0)
    words.append(f"{policy} {-model.get_weights()[0][1, 0]:.0f}")
print(*words)
PYTHON
seen=$(KERAS_BACKEND=jax JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: float32 4096 mixed_bfloat16 256"
