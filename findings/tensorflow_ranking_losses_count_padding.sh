#!/usr/bin/env bash
# Losses of TensorFlow Ranking depend on the longest list of a batch: padding divides gradients, and adds 20 to ListMLE.
#
# Guess before the run: documents with the label -1, which are padding, change no loss: a question with four answers
# costs the same alone and in a batch with one of sixteen answers, and teaches a BERT that ranks them as much.
# Seen: tensorflow-ranking 0.5.5 with TensorFlow 2.15.1. So it is for softmax_loss and approx_ndcg_loss. Pairwise
# losses, squared errors and sigmoids are means over all places, padding included: at four times the length loss and
# gradients are a fourth, so that short lists learn less beside long ones, and the learning rate is another for another
# batch. ListMLE adds the logarithm of the number of orders that the padding has, 20 for 12 places, which no training
# can lower. The metrics leave padding out.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-ranking==0.5.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_ranking as tfr

labels = np.array([[2.0, 0.0, 1.0, 3.0]], "float32")
scores = np.random.default_rng(0).normal(size=(1, 4)).astype("float32")


def loss(name, padding):
    """The loss of one list of four documents, with some more that are padding (a label of -1)."""
    several = [(0, 0), (0, padding)]
    rows = (np.pad(labels, several, constant_values=-1.0), np.pad(scores, several))
    with tf.GradientTape() as tape:
        rows = tuple(map(tf.constant, rows))
        tape.watch(rows[1])
        value = tfr.keras.losses.get(name)(*rows)
    return f"{float(value):.2f} ({float(tf.norm(tape.gradient(value, rows[1]))):.2f})"


names = ("softmax_loss", "approx_ndcg_loss", "list_mle_loss", "pairwise_logistic_loss", "mean_squared_loss")
print(
    f"tensorflow-ranking {importlib.metadata.version('tensorflow-ranking')}, tensorflow {tf.__version__},",
    "losses and lengths of gradients with 0, 4, 12 documents of padding:",
    ", ".join(f"{name} {' '.join(loss(name, padding) for padding in (0, 4, 12))}" for name in names),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-ranking 0.5.5, tensorflow 2.15.1, losses and lengths of gradients with 0, 4, 12 documents of\
 padding: softmax_loss 8.47 (2.43) 8.47 (2.43) 8.47 (2.43), approx_ndcg_loss -0.68 (0.22) -0.68 (0.22)\
 -0.68 (0.22), list_mle_loss 3.13 (1.29) 6.30 (1.29) 23.11 (1.29), pairwise_logistic_loss 1.05 (0.56)\
 0.53 (0.28) 0.26 (0.14), mean_squared_loss 3.01 (1.74) 1.51 (0.87) 0.75 (0.43)"
