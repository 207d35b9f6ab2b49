#!/usr/bin/env bash
# Keras' Dice and Tversky losses of tags count padding, and a weight of a token scales the loss of the whole batch.
#
# Guess before the run: As in all losses of Keras, masked tokens, and those with the weight 0, don't count in
# `keras.losses.Dice`: it is the Dice loss of the others.
# Seen: Keras 3.15.1 on JAX 0.10.2. Both losses are one number for the batch, computed over all positions, and masks
# and weights multiply it afterwards. So what the labels of padding are changes the loss from .66 to .37, and two
# tokens of weight 0 halve it, to .24, where without them it would be .14; tokens of weight 0 are learned all the
# same. The binary cross entropy leaves padding out.
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

ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
tags = np.array([[[1.0], [0.0], [0.0], [0.0]], [[1.0], [0.0], [0.0], [0.0]]], "float32")
padded = np.where(ids[..., None] == 0, 1.0, tags)
scores = np.array([[[0.9], [0.2], [0.7], [0.6]]], "float32")
weights = np.array([[1.0, 1.0, 0.0, 0.0]])
words = []
for name in ("Dice", "Tversky", "BinaryCrossentropy"):
    values = []
    for labels in (tags, padded):
        keras.utils.set_random_seed(0)
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                keras.layers.Embedding(5, 4, mask_zero=True),
                keras.layers.Dense(1, "sigmoid"),
            ]
        )
        model.compile(loss=getattr(keras.losses, name)())
        values.append(f"{model.evaluate(ids, labels, verbose=0):.2f}")
    loss = getattr(keras.losses, name)()
    every = loss(tags[:1], scores)
    weighted = loss(tags[:1], scores, sample_weight=weights)
    values += [f"{float(value):.2f}" for value in (every, weighted, loss(tags[:1, :2], scores[:, :2]))]
    words.append(f"{name} {values[0]} {values[1]}; {' '.join(values[2:])}")
print(f"keras {keras.__version__}, padding 0 or 1; all, two with weight 0, without these: {' | '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, padding 0 or 1; all, two with weight 0, without these: Dice 0.66 0.37; 0.47 0.24 0.14 |\
 Tversky 0.66 0.37; 0.47 0.24 0.14 | BinaryCrossentropy 0.69 0.69; 0.61 0.08 0.16"
