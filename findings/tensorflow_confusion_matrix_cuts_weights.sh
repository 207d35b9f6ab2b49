#!/usr/bin/env bash
# With weights of .9 `tf.math.confusion_matrix` is zero everywhere, and a weight of 1.9 counts as 1: it cuts them off.
#
# Guess before the run: "each prediction contributes its corresponding weight to the total value of the confusion matrix
# cell".
# Seen: tensorflow 2.20.0. The matrix is int32 unless a `dtype` is given, and weights are cast to it, one by one, before
# they are added. For 1,000 predictions with weights of 1 it is right; with weights of .9, or drawn from 0 to 1, all
# four cells are 0, and 1.9 for the texts of one class changes nothing: 124 and 413 for 236 and 785. Nothing is said. A
# matrix of texts that are weighted by their confidence, or by rarity, is empty or as without weights.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 1000)
predictions = np.where(rng.random(1000) < 0.2, 1 - labels, labels)
parts = []
for name, weights in (
    ("1", np.ones(1000)),
    (".9", np.full(1000, 0.9)),
    ("1.9 for class 1", np.where(labels == 1, 1.9, 1.0)),
    ("0 to 1", rng.random(1000)),
):
    matrix = tf.math.confusion_matrix(labels, predictions, weights=weights).numpy()
    own = np.zeros((2, 2))
    np.add.at(own, (labels, predictions), weights)
    parts.append(f"weights {name}: {matrix.ravel().tolist()} of {own.round().astype(int).ravel().tolist()}")
print(f"tensorflow {tf.__version__}: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: weights 1: [378, 85, 124, 413] of [378, 85, 124, 413]; weights .9: [0, 0, 0, 0] of\
 [340, 76, 112, 372]; weights 1.9 for class 1: [378, 85, 124, 413] of [378, 85, 236, 785]; weights 0 to 1: [0, 0, 0,\
 0] of [177, 42, 66, 196]"
