#!/usr/bin/env bash
# Adam of Keras on TensorFlow moves the embedding of a word that occurs 100 times in a batch 10 times as far.
#
# Guess before the run: the first step of Adam at rate 1 moves every number that has a gradient by 1, whether
# an Embedding layer looks a vector up or a Dense layer multiplies one-hot vectors with the table.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, `fit` on one row of 100 times word 1 and once word 3. The Dense
# layer's kernel moves by 1.000 for both words, the Embedding's by 10.000 for word 1 and 1.000 for word 3; on
# JAX 0.10.2 all four are 1.000. AdamW, Nadam and LAMB differ likewise, Lion and SGD don't.
# The gradient of a lookup lists a row once for each time its word occurs. The mean of the gradients adds the
# rows up; the mean of their squares adds the squares, so that it is 100 times too small where 100 rows are
# equal. Punctuation, [CLS] and [SEP] of a BERT take such steps in every batch.
# `fit` of this project's models sums the rows first, for every optimizer (docs/keras.md).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

words = np.array([[1] * 100 + [3]])
one_hot = np.eye(5, dtype="float32")[words]
seen = [f"{keras.backend.backend()}:"]
for layer, inputs in (
    (keras.layers.Dense(2, use_bias=False), one_hot),
    (keras.layers.Embedding(5, 2), words),
):
    model = keras.Sequential([keras.Input(inputs.shape[1:], dtype=inputs.dtype.name), layer])
    model.compile(keras.optimizers.Adam(1.0), lambda y, outputs: keras.ops.sum(outputs))
    before = layer.get_weights()[0]
    model.fit(inputs, np.zeros((1, 1)), verbose=0)
    moved = before - layer.get_weights()[0]
    seen.append(f"{moved[1, 0]:.3f} {moved[3, 0]:.3f}")
print(*seen)
PYTHON
seen="keras 3.15.1"
for backend in tensorflow jax; do
    seen="$seen $(KERAS_BACKEND=$backend TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)"
done
echo "$seen"
test "$seen" = "keras 3.15.1 tensorflow: 1.000 1.000 10.000 1.000 jax: 1.000 1.000 1.000 1.000"
