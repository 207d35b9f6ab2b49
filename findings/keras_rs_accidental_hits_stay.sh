#!/usr/bin/env bash
# RemoveAccidentalHits of KerasRS removes nothing: a question's answer that is twice in a batch is also a wrong one.
#
# Guess before the run: among the answers of a batch that are a question's negatives the layer gives those that have the
# identity of its right answer a logit so low that a softmax leaves them out, as tensorflow_recommenders' layer of the
# same name, from which it is taken, and its documentation says.
# Seen: keras-rs 0.4.0, keras 3.15.1, on JAX. It adds the smallest positive float, 1e-38 / 100, where the lowest one,
# -3e38 / 100, was meant: logits and loss stay as they were, and the question learns to be far from its answer. Besides,
# of a list of answers for each question the right identity is looked up in the list of the first question.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6 ml-dtypes==0.5.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-rs==0.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax
import jax.numpy as jnp
import keras_rs
import numpy as np

answers = np.array([7, 8, 7, 9])
labels = np.eye(4, dtype="float32")
logits = np.float32([[2, 0, 2, 0], [0, 2, 0, 0], [2, 0, 2, 0], [0, 0, 0, 2]])
hits = (answers[:, None] == answers) & (labels == 0)


def losses(logits):
    return -(labels * jax.nn.log_softmax(logits)).sum(axis=-1)


layer = keras_rs.layers.RemoveAccidentalHits()
kept = np.asarray(layer(logits, labels, answers))
gradient = jax.grad(lambda logits: losses(layer(logits, labels, answers))[0])(jnp.asarray(logits))[0]
values = [" ".join(f"{loss:.2f}" for loss in losses(some)) for some in (kept, np.where(hits, -1e30, logits), logits)]
print(
    f"keras-rs {importlib.metadata.version('keras-rs')}, losses {values[0]},",
    f"without hits {values[1]}, with {values[2]};",
    f"hits lowered {(kept[hits] < -100).sum()} of {hits.sum()}; gradient of a hit {gradient[2]:.2f}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-rs 0.4.0, losses 0.82 0.34 0.82 0.34, without hits 0.24 0.34 0.24 0.34, with 0.82 0.34 0.82\
 0.34; hits lowered 0 of 2; gradient of a hit 0.44"
