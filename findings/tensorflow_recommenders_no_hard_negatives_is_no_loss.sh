#!/usr/bin/env bash
# With `num_hard_negatives=0`, "all the negative examples are kept", TensorFlow Recommenders keeps none: the loss is 0.
#
# Guess before the run: `Retrieval(num_hard_negatives=0)` and -1 train as without it, for "if larger than batch size or
# non-positive, all the negative examples are kept".
# Seen: tensorflow-recommenders 0.7.7. The best `num_hard_negatives + 1` scores are taken, the right answer first among
# them: with 0 or -1 the right answer alone is left, whose probability is 1. The loss is 0.00 instead of 12.76, and all
# gradients are 0, so that two towers of a BERT stay as they are. 1 and 3 are right, and so is a number above the batch.
# A loss of 0 from the first step on looks like a perfect model, and a search over [0, 5, 20] finds 0 best.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-recommenders==0.7.7
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_recommenders as tfrs

rng = np.random.default_rng(0)
queries = tf.Variable(rng.normal(size=(4, 8)).astype("float32"))
answers = tf.constant(rng.normal(size=(4, 8)).astype("float32"))
parts = []
for number in (None, 0, -1, 1, 3, 100):
    with tf.GradientTape() as tape:
        loss = tfrs.tasks.Retrieval(num_hard_negatives=number)(queries, answers)
    slope = np.abs(tape.gradient(loss, queries)).max()
    parts.append(f"{number} {loss:.2f} {slope:.2f}")
version = importlib.metadata.version("tensorflow-recommenders")
print(f"tensorflow-recommenders {version}, hard negatives, loss, greatest slope: {', '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-recommenders 0.7.7, hard negatives, loss, greatest slope: None 12.76 2.95, 0 0.00 0.00, -1\
 0.00 0.00, 1 11.56 2.96, 3 12.76 2.95, 100 12.76 2.95"
