#!/usr/bin/env bash
# The loss that keras-crf reports for a tagger is that of the last batch: `val_loss` chooses by what the last texts say.
#
# Guess before the run: `fit` and `evaluate` of CRFModel report the mean of the loss over all batches, as Keras does, so
# that `evaluate` has nearly the same loss at any batch size.
# Seen: keras-crf 0.3.0 on TensorFlow 2.15.1. Each step returns its own loss beside Keras' metrics, and nothing adds
# them up. Of 160 texts, the last ten of which are tagged otherwise, a tagger has a loss of 6.4, and is reported 102.1
# at batches of 50 or of 10, which is that of the last ten. EarlyStopping, checkpoints and a learning rate that follows
# the loss are led by the last few texts of the file.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-crf==0.3.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from keras_crf import CRFModel

tf.keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
words = rng.integers(1, 20, (160, 8))
tags = words % 4
tags[150:] = (words[150:] + 1) % 4  # the last ten texts are tagged otherwise
ids = tf.keras.Input((8,), dtype="int32")
scores = tf.keras.layers.Dense(4)(tf.keras.layers.Embedding(20, 16)(ids))
model = CRFModel(tf.keras.Model(ids, scores), 4)
model.compile(tf.keras.optimizers.Adam(0.02))
model.fit(words[:150], tags[:150], batch_size=10, epochs=20, verbose=0)


def loss(rows, batch_size):
    return model.evaluate(words[rows], tags[rows], batch_size=batch_size, verbose=0, return_dict=True)["loss"]


everything = slice(0, 160)
parts = [loss(slice(start, start + 10), 10) for start in range(0, 160, 10)]
print(
    f"keras-crf {importlib.metadata.version('keras-crf')}: loss of all 160 texts {np.mean(parts):.1f},",
    f"of the last ten {parts[-1]:.1f}; evaluate with batches of 160 {loss(everything, 160):.1f},",
    f"of 50 {loss(everything, 50):.1f}, of 10 {loss(everything, 10):.1f}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-crf 0.3.0: loss of all 160 texts 6.4, of the last ten 102.1; evaluate with batches of 160 6.4,\
 of 50 102.1, of 10 102.1"
