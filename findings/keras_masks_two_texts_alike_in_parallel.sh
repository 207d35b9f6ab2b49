#!/usr/bin/env bash
# A Keras layer that draws in `Dataset.map` with `num_parallel_calls` gives some pairs of texts the same random mask.
#
# Guess before the run: each call takes the next state of the layer's SeedGenerator, as in a map of one call at a time:
# 20,000 masks of 64 units are all different.
# Seen: keras 3.15.1 on TensorFlow 2.20.0. Calls that run at once read the state before one of them has moved it on: of
# 20,000 masks of a Dropout some dozens come twice, and the counts are others in every run. One call at a time gives
# none, nor does a tf.random.Generator in parallel. The same holds for keras.random with a SeedGenerator, and so for
# layers that augment or mask in an input pipeline.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import tensorflow as tf

ones = tf.ones(64)
dropout = keras.layers.Dropout(0.5, seed=1)
seeds = keras.random.SeedGenerator(1)
generator = tf.random.Generator.from_seed(1)
draws = {
    "Dropout": lambda _: dropout(ones, training=True),
    "keras.random": lambda _: keras.random.uniform((64,), seed=seeds),
    "Generator": lambda _: generator.uniform([64]),
}


def repeats(draw, parallel):
    # Several passes: how many calls meet is up to the threads.
    for _ in range(5):
        rows = tf.data.Dataset.range(20000).map(draw, num_parallel_calls=parallel).as_numpy_iterator()
        if len({row.tobytes() for row in rows}) < 20000:
            return True
    return False


print(
    f"keras {keras.__version__}, tensorflow {tf.__version__}, a mask comes twice, one by one and in parallel:",
    ", ".join(f"{name} {repeats(draw, None)} {repeats(draw, 16)}" for name, draw in draws.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, tensorflow 2.20.0, a mask comes twice, one by one and in parallel: Dropout False True,\
 keras.random False True, Generator False False"
