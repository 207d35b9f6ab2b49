#!/usr/bin/env bash
# The soft-margin triplet loss of tensorflow-similarity is infinite once a text of a batch is right by a margin of 89.
#
# Guess before the run: `TripletLoss(distance="sql2", margin=None)`, the log of 1 + exp(positive - negative), goes to 0
# as a text's own class comes nearer than the others: it is 0.00 at squared distances of 0 and 100.
# Seen: tensorflow-similarity 0.17.1. It is 0.00 up to a difference of 88, and infinite from 89 on: the largest term is
# taken out of the sum, and the 1 is multiplied by exp(88) or more, too much for float32. Its gradient is 0, so weights
# stay finite, but the mean of a batch is infinite as soon as one text of it is that right. Vectors of 768 units that
# vary by 1 are 1,500 apart. With Manhattan distances it is the same; with a margin of 1 it is 0.
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
from tensorflow_similarity.losses import TripletLoss

labels = np.array([0, 0, 1, 1])
parts = []
for margin, distance, gaps in ((None, "sql2", (1, 50, 88, 89, 1500)), (None, "l1", (50, 100)), (1.0, "sql2", (100,))):
    loss = TripletLoss(distance=distance, margin=margin)
    values = []
    for gap in gaps:
        far = gap if distance == "l1" else gap**0.5
        vectors = tf.Variable(np.array([[0, 0], [0, 0], [far, 0], [far, 0]], "float32"))
        with tf.GradientTape() as tape:
            value = loss(labels, vectors)
        gradient = np.abs(tape.gradient(value, vectors)).max()
        values.append(f"{gap} apart {value:.2f} of {np.log1p(np.exp(-float(gap))):.2f} gradient {gradient:.0g}")
    parts.append(f"{distance} margin {margin} {', '.join(values)}")
print(f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1: sql2 margin None 1 apart 0.31 of 0.31 gradient 0.3, 50 apart 0.00 of\
 0.00 gradient 1e-21, 88 apart 0.00 of 0.00 gradient 0, 89 apart inf of 0.00 gradient 0, 1500 apart inf of 0.00\
 gradient 0; l1 margin None 50 apart 0.00 of 0.00 gradient 1e-22, 100 apart inf of 0.00 gradient 0; sql2 margin 1.0\
 100 apart 0.00 of 0.00 gradient 0"
