#!/usr/bin/env bash
# The accuracy that keras-crf reports is of the scores before its CRF: .57 if all tags are right, 1.00 if half are.
#
# Guess before the run: `compile(metrics=["acc"])` of CRFModel reports the share of words whose decoded tag is right, as
# the name of the metric, decode_sequence_acc, says.
# Seen: keras-crf 0.3.0 on TensorFlow 2.15.1. The metric compares labels with the largest of the scores that go into the
# CRF, whose transitions are left out. A tagger whose scores say nothing, and whose CRF has learned that tags alternate,
# decodes all words rightly, and is reported .57; where a CRF spoils right scores, half of the words are right, and 1.00
# is reported. So checkpoints and early stopping by this accuracy see nothing of what the CRF learns.
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
tags = (np.arange(8) + rng.integers(0, 2, (300, 1))) % 2  # 0 1 0 1 or 1 0 1 0
words = np.where(np.arange(8) == 0, tags + 1, 3)  # the first word alone says which


def tagger(words, transitions):
    ids = tf.keras.Input((8,), dtype="int32")
    embedding = tf.keras.layers.Embedding(4, 2, mask_zero=True)
    model = CRFModel(tf.keras.Model(ids, embedding(ids)), 2, use_kernel=False, use_boundary=False)
    embedding.set_weights([np.array([[0, 0], [2, 0], [0, 2], [0.1, 0]], "float32")])
    model.crf.chain_kernel.assign(transitions)
    model.compile(metrics=["acc"])
    reported = model.evaluate(words, tags, verbose=0, return_dict=True)["decode_sequence_acc"]
    return (model.predict(words, verbose=0)[0] == tags)[words != 0].mean(), reported


alternate = np.array([[-3, 3], [3, -3]], "float32")
words_of_tags = tags + 1  # each word says its tag
cases = {
    "CRF alone": (words, alternate),
    "CRF spoils": (words_of_tags, -alternate),
    
}
parts = []
for name, case in cases.items():
    decoded, reported = tagger(*case)
    parts.append(f"{name} {decoded:.2f}, reported {reported:.2f}")
print(f"keras-crf {importlib.metadata.version('keras-crf')}, right words: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-crf 0.3.0, right words: CRF alone 1.00, reported 0.57; CRF spoils 0.50, reported 1.00"
