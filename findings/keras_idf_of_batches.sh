#!/usr/bin/env bash
# The TF-IDF weights that Keras learns of labels or tags depend on the size of the batches of a dataset.
#
# Guess before the run: `StringLookup(output_mode="tf_idf").adapt` has the same weights for an array of 1,000 strings and
# for a dataset of them, whatever its batches are.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. Of 1,000 documents of one word 900 are "a" and 100 "b". Adapted to the array
# their weights are .75 and 2.39. A dataset in batches of 10 makes .69 of both, and one in batches of 100 .65: a
# batch with one axis is taken for one document, and each word is in every one of those. In batches of 1 the weights are
# those of the array. `TextVectorization(split=None)` does the same; with words that are split, it counts texts.
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

words = np.array((["a"] * 9 + ["b"]) * 100)
print(f"keras {keras.__version__}:", end="")
for batch in (None, 1, 10, 100):
    layer = keras.layers.StringLookup(output_mode="tf_idf")
    data = words if batch is None else tf.data.Dataset.from_tensor_slices(words).batch(batch)
    layer.adapt(data)
    weights = dict(zip(layer.get_vocabulary(), layer.idf_weights.numpy(), strict=True))
    name = "array" if batch is None else f"batches of {batch}"
    print(f" {name} {weights['a']:.2f} {weights['b']:.2f};", end="")
print()
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: array 0.75 2.39; batches of 1 0.75 2.39; batches of 10 0.69 0.69; batches of 100 0.65 0.65;"
