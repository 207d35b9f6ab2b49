#!/usr/bin/env bash
# Deletion and insertion of xplique can't tell a right explanation of words from a wrong one: they delete other units.
#
# Guess before the run: a classifier of embedded texts, [text, word, unit], is explained by a score for each word.
# Deletion and Insertion take it, as MuFidelity of the same package does, and delete words in its order, or they refuse
# it.
# Seen: xplique 2.0.2. The classifier reads the fifth word alone. Deletion and Insertion are .87 and .50 for the
# explanation that names this word, and .87 and .50 for one that puts it last: with eight words they delete the first
# eight units of the first word, which does nothing. If the scores are repeated for all units they are .53 and .85, and
# .85 and .53, as they should be, and MuFidelity tells them apart in the shape [text, word].
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 tensorflow-probability==0.25.0 numpy==2.4.6 scipy==1.17.1 \
    scikit-learn==1.9.1 scikit-image==0.26.0 matplotlib==3.11.2 opencv-python-headless==5.0.0.93 einops==0.8.2 \
    deprecated==1.3.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    xplique==2.0.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from xplique.metrics import Deletion, Insertion, MuFidelity

rng = np.random.default_rng(0)
tf.random.set_seed(0)
words = rng.normal(size=(50, 8, 16)).astype("float32")
direction = rng.normal(size=16).astype("float32")


class FifthWord(tf.keras.Model):
    """A classifier of embedded texts that reads their fifth word alone."""

    def call(self, texts):
        score = tf.sigmoid(tf.reduce_sum(texts[:, 4] * direction, axis=-1, keepdims=True))
        return tf.concat([1 - score, score], axis=1)


model = FifthWord()
targets = np.eye(2, dtype="float32")[np.argmax(model(words), axis=1)]
right = rng.random((50, 8)).astype("float32") * 0.01
right[:, 4] = 1.0
wrong = rng.random((50, 8)).astype("float32") * np.where(np.arange(8) == 4, 0.01, 1)
parts = []
for name, values in (("right", right), ("wrong", wrong.astype("float32"))):
    repeated = np.repeat(values[..., None], 16, axis=-1)
    scores = [f"{metric(model, words, targets)(values):.2f}" for metric in (Deletion, Insertion)]
    units = [f"{metric(model, words, targets)(repeated):.2f}" for metric in (Deletion, Insertion)]
    fidelity = MuFidelity(model, words, targets, grid_size=8)(values)
    parts.append(f"{name} words {' '.join(scores)}, repeated for units {' '.join(units)}, MuFidelity {fidelity > 0.1}")
print(f"xplique {importlib.metadata.version('xplique')}, Deletion and Insertion: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "xplique 2.0.2, Deletion and Insertion: right words 0.87 0.50, repeated for units 0.53 0.85, MuFidelity\
 True; wrong words 0.87 0.50, repeated for units 0.85 0.53, MuFidelity False"
