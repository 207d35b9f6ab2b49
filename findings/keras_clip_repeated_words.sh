#!/usr/bin/env bash
# `clipnorm=1` of a Keras optimizer lets an embedding move by more than 1 where a word repeats.
#
# Guess before the run: with SGD at rate 1 and clipnorm=1 a table of vectors moves by at most 1, whether an
# Embedding layer looks its rows up or a Dense layer multiplies one-hot vectors with it: it is one gradient.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, one step on the words 1 1 1 3. The Dense layer's kernel moves by
# 1.000, the Embedding's by 1.581; global_clipnorm does the same, and clipvalue=2 lets a row move by 3.
# The lookup's gradient lists a row once for each time its word occurs. Keras clips the list as it is, and
# the rows are summed afterwards, so that the norm (2 here) is not that of the gradient (3.162).
# `fit` of this project's models sums the rows first (modeling/fit.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

words = np.array([[1, 1, 1, 3]])
one_hot = np.eye(5, dtype="float32")[words]


def moved(layer, inputs, **clipping):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input(inputs.shape[1:], dtype=inputs.dtype.name), layer])
    model.compile(keras.optimizers.SGD(1.0, **clipping), lambda y, outputs: keras.ops.sum(outputs))
    before = layer.get_weights()[0]
    model.fit(inputs, np.zeros((1, 1)), verbose=0)
    return before - layer.get_weights()[0]


seen = [f"keras {keras.__version__}:"]
for clipping in ({"clipnorm": 1.0}, {"global_clipnorm": 1.0}):
    for layer, inputs in (
        (keras.layers.Dense(2, use_bias=False), one_hot),
        (keras.layers.Embedding(5, 2), words),
    ):
        seen.append(f"{np.linalg.norm(moved(layer, inputs, **clipping)):.3f}")
seen.append(f"{moved(keras.layers.Embedding(5, 2), words, clipvalue=2.0).max():.3f}")
print(*seen)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 1.000 1.581 1.000 1.581 3.000"
