#!/usr/bin/env bash
# With "easy" positives of tensorflow-similarity a text alone in its class is drawn to the text that is furthest off.
#
# Guess before the run: an anchor without another text of its class makes no triplet, so that it costs nothing; the
# circle and the multi-similarity loss of the package leave it out ("Remove any anchors that have empty neg or pos
# pairs").
# Seen: tensorflow-similarity 0.17.1. TripletLoss takes the maximum or the minimum over no positives. With "easy"
# positives that is the largest distance in the row: the text furthest off, of another class, is the positive, and a
# step of the gradient brings it nearer. With "hard" ones, the default, it is the smallest distance, that to itself, and
# the next text is pushed off. A batch of eight classes with a text each has a loss of 1.21 or .03, as if triplets were
# there. Batches of a BERT for duplicates or intents with many classes are mostly such texts.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-similarity==0.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The losses alone, without the plots and indices that the whole package imports.
package = types.ModuleType("tensorflow_similarity")
package.__path__ = list(importlib.util.find_spec("tensorflow_similarity").submodule_search_locations)
sys.modules[package.__name__] = package

import numpy as np
import tensorflow as tf
from tensorflow_similarity.losses import CircleLoss, MultiSimilarityLoss, TripletLoss

rng = np.random.default_rng(0)
vectors = tf.math.l2_normalize(rng.normal(size=(8, 16)).astype("float32"), 1)
labels = tf.range(8)
losses = {
    "easy": TripletLoss(margin=0.5, positive_mining_strategy="easy"),
    "hard": TripletLoss(margin=0.5),
    "circle": CircleLoss(),
    "multi-similarity": MultiSimilarityLoss(),
}
furthest = np.argmin((vectors @ tf.transpose(vectors)).numpy()[0])
parts = []
for name, loss in losses.items():
    variable = tf.Variable(vectors)
    with tf.GradientTape() as tape:
        value = loss(labels, variable)
    moved = tf.math.l2_normalize(variable - 0.5 * tape.gradient(value, variable), 1)
    before, after = (float(tf.reduce_sum(some[0] * some[furthest])) for some in (vectors, moved))
    parts.append(f"{name} {value:.2f}, cosine of the furthest {before:.2f} to {after:.2f}")
version = importlib.metadata.version("tensorflow-similarity")
print(f"tensorflow-similarity {version}, 8 texts of 8 classes: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1, 8 texts of 8 classes: easy 1.21, cosine of the furthest -0.19 to 0.04;\
 hard 0.03, cosine of the furthest -0.19 to -0.22; circle 0.00, cosine of the furthest -0.19 to -0.19;\
 multi-similarity 0.00, cosine of the furthest -0.19 to -0.19"
