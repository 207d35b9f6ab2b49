#!/usr/bin/env bash
# Scores of all answers of one question, start + end, are n of n² numbers in Keras: it takes the ends for a bias.
#
# Guess before the run: a Keras model with the outputs [n, 1] and [1, n] per question, which it adds to [n, n] as the
# paper scores answers (S·Ti + E·Tj), gives a question alone the scores that it has in a batch of two.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. `keras.ops.add`, which "+" and the layer Add of a functional model call,
# becomes `bias_add` where the second tensor has one dimension above 1 that equals the second or the last of the first.
# Batches of one have that shape: `model(x)`, `predict_on_batch` and a first `predict` of one question at a time return
# start[i] + end[i] only, of the shape [1, n, 1], where the model says [None, n, n]. After a `predict` of more the same
# model returns all. Of a square first tensor a second of [n, 1] is added along the rows: of scores [n, n] of one text
# what is meant for the queries goes to the keys. On PyTorch all of it is as guessed.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

tokens = 6
hidden = keras.Input((tokens, 8))
start = keras.layers.Dense(1)(hidden)
end = keras.ops.transpose(keras.layers.Dense(1)(hidden), (0, 2, 1))
spans = keras.Model(hidden, start + end)
layer = keras.Model(hidden, keras.layers.Add()([start, end]))
x = np.random.default_rng(0).normal(size=(2, tokens, 8)).astype("float32")
one = spans.predict(x, batch_size=1, verbose=0)
two = spans.predict(x, batch_size=2, verbose=0)
alone = keras.ops.convert_to_numpy(layer(x[:1]))
kept = one.shape == (2, tokens, 1) and np.allclose(one[..., 0], np.diagonal(two, axis1=1, axis2=2))

scores = np.zeros((1, tokens, tokens), np.float32)
queries = np.arange(tokens, dtype=np.float32)[None, :, None]
added = keras.ops.convert_to_numpy(keras.ops.add(scores, queries))
along = "queries" if (added == queries).all() else "keys" if (added == queries.swapaxes(1, 2)).all() else "neither"
print(
    f"{keras.backend.backend()}: two questions {two.shape}, one by one {one.shape}{' diagonal' if kept else ''},",
    f"Add of one {alone.shape}; scores of queries go to {along}",
)
PYTHON
seen=$(for backend in tensorflow torch; do
    KERAS_BACKEND=$backend "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1
done)
echo "$seen"
test "$seen" = "tensorflow: two questions (2, 6, 6), one by one (2, 6, 1) diagonal, Add of one (1, 6, 1); scores of queries go to keys
torch: two questions (2, 6, 6), one by one (2, 6, 6), Add of one (1, 6, 6); scores of queries go to queries"
