#!/usr/bin/env bash
# Two equal views of a text make the angular SimSiam loss of tensorflow-similarity NaN, by rounding, and all weights.
#
# Guess before the run: a text whose two vectors are equal has an angle of 0, so that
# `SimSiamLoss(projection_type="angular_distance")` is its margin, .001, for it, as its three other parts are smallest
# there.
# Seen: tensorflow-similarity 0.17.1. The cosine of a float32 vector with itself is often 1.0000001, whose arc cosine is
# NaN, and where it is exactly 1 the slope is infinite. Of 1,000 equal pairs a seventh had a loss of NaN and more than
# half a gradient of NaN, and so had pairs that differ by 1e-4; one of them in a batch makes the mean NaN. The cosine
# distance of the same loss is right. Equal views are usual where a BERT's dropout is off, or where augmentation leaves
# a short text as it is.
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
from tensorflow_similarity.losses import SimSiamLoss

rng = np.random.default_rng(0)
vectors = rng.normal(size=(1000, 768)).astype("float32")
parts = []
for name in ("angular_distance", "cosine_distance"):
    loss = SimSiamLoss(projection_type=name)
    for far in (0.0, 1e-4, 0.1):
        other = tf.constant(vectors + far * rng.normal(size=vectors.shape).astype("float32"))
        variable = tf.Variable(vectors)
        with tf.GradientTape() as tape:
            value = loss(variable, other)
        arrays = tape.gradient(value, variable).numpy(), loss.call(vectors, other).numpy()
        slopes, losses = ("NaN" if np.isnan(array).any() else "finite" for array in arrays)
        parts.append(f"{name} {far:g} off: losses {losses}, gradients {slopes}, mean {value:.3f}")
print(f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1: angular_distance 0 off: losses NaN, gradients NaN, mean nan;\
 angular_distance 0.0001 off: losses NaN, gradients NaN, mean nan; angular_distance 0.1 off: losses finite, gradients\
 finite, mean 0.017; cosine_distance 0 off: losses finite, gradients finite, mean 0.001; cosine_distance 0.0001 off:\
 losses finite, gradients finite, mean 0.001; cosine_distance 0.1 off: losses finite, gradients finite, mean 0.003"
