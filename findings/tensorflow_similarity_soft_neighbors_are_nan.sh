#!/usr/bin/env bash
# The soft nearest neighbor loss of tensorflow-similarity is NaN for vectors of a BERT's size, with its own defaults.
#
# Guess before the run: `SoftNearestNeighborLoss()` of vectors of 768 units, which it takes as they are ("float `Tensor`
# of embedding vectors"), is the negative log of a softmax of distances: a finite number.
# Seen: tensorflow-similarity 0.17.1. Of vectors of 768 units that vary by 1, as those after a LayerNorm, the loss and
# all gradients are NaN, where it is 67.10 by a log-sum-exp. Distances are squared, about 1,500, and their exponentials
# are 0 in float32 from 104 on, so that the loss is 0 divided by 0. With 32 units it is right; with one text of a batch
# that is far from all others it is NaN, too. Unit vectors have none of this.
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
from tensorflow_similarity.losses import SoftNearestNeighborLoss

random = np.random.default_rng(0)
labels = np.repeat(np.arange(8), 2)
loss = SoftNearestNeighborLoss()


def right(vectors):
    """The mean loss by a log-sum-exp in 64 bits."""
    minus = -np.square(vectors[:, None] - vectors[None]).sum(-1).astype(float)
    np.fill_diagonal(minus, -np.inf)
    own = np.where(labels[:, None] == labels[None], minus, -np.inf)
    return np.mean(np.logaddexp.reduce(minus, 1) - np.logaddexp.reduce(own, 1))


def case(vectors):
    variable = tf.Variable(vectors)
    with tf.GradientTape() as tape:
        value = loss(labels, variable)
    gradient = tape.gradient(value, variable).numpy()
    size = "NaN" if np.isnan(gradient).all() else f"{np.abs(gradient).max():.1g}"
    return f"{value:.2f} for {right(vectors):.2f} gradient {size}"


large = random.normal(size=(16, 768)).astype("float32")
small = (random.normal(size=(16, 32)) / 4).astype("float32")
outlier = small.copy()
outlier[0] += 3
cases = {"768 units": large, "32 units": small, "one outlier": outlier}
cases["768 units of length 1"] = large / np.linalg.norm(large, axis=1, keepdims=True)
parts = [f"{name} {case(vectors)}" for name, vectors in cases.items()]
print(f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1: 768 units nan for 67.10 gradient NaN; 32 units 2.94 for 2.94 gradient\
 0.2; one outlier nan for 22.15 gradient NaN; 768 units of length 1 2.66 for 2.66 gradient 0.03"
