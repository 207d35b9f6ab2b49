#!/usr/bin/env bash
# A pair of weight 0 still trains a BERT in tensorflow-similarity: a weight counts for one of two terms of the loss.
#
# Guess before the run: MultiNegativesRankLoss with weights [1, 0, 0, 0] is the loss of the first pair, "loss values per
# sample", divided by 4; with reduction "sum" it is four times the mean.
# Seen: tensorflow-similarity 0.17.1. `call` returns a table of 16 numbers for four pairs: the right score of pair j is
# taken from the log-sum of pair i, for all i and j, as one is a row and the other a column. The mean is right. With
# weights the scores of the first pair are taken from the log-sums of all: 3.16 instead of .23, and the queries of
# weight 0 have gradients. "sum" is 16 times the mean. A log-sum also counts one answer more, of score 0, so that a sure
# pair whose scores are -2 and -9 costs 2.13.
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
from tensorflow_similarity.losses import MultiNegativesRankLoss

rng = np.random.default_rng(0)
queries = tf.Variable(tf.math.l2_normalize(rng.normal(size=(4, 8)).astype("float32"), 1))
answers = tf.math.l2_normalize(queries + rng.normal(size=(4, 8)).astype("float32"), 1)
loss = MultiNegativesRankLoss(scale=5.0)
scores = 5 * tf.matmul(queries, answers, transpose_b=True)
right = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(4), scores)
with tf.GradientTape() as tape:
    weighted = loss(queries, answers, sample_weight=tf.constant([1.0, 0.0, 0.0, 0.0]))
moved = int(np.any(tape.gradient(weighted, queries).numpy() != 0, axis=1).sum())
total = MultiNegativesRankLoss(scale=5.0, reduction="sum")(queries, answers)
sure = MultiNegativesRankLoss(scale=1.0)(tf.constant([[-2.0, -9.0], [-9.0, -2.0]]), tf.eye(2))
version = importlib.metadata.version("tensorflow-similarity")
print(
    f"tensorflow-similarity {version}: shape {tuple(loss.call(queries, answers).shape)},",
    f"mean {loss(queries, answers):.2f} (cross entropy {np.mean(right):.2f}), sum {total:.2f};",
    f"one weight {4 * weighted:.2f} of {right[0]:.2f}, {moved} of 4 queries move; scores -2 and -9: {sure:.2f}",
)
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1: shape (4, 4), mean 1.27 (cross entropy 1.13), sum 20.33; one weight 3.16\
 of 0.23, 4 of 4 queries move; scores -2 and -9: 2.13"
