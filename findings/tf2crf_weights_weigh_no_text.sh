#!/usr/bin/env bash
# Weights of texts weigh no text in tf2crf: one model ignores them, one takes two of them for weights of its two losses.
#
# Guess before the run: `fit` and `evaluate` of ModelWithCRFLoss multiply the loss of a text by its `sample_weight`;
# ModelWithCRFLossDSCLoss does, too, and leaves padding out of its DSC loss.
# Seen: tf2crf 0.1.33 on TensorFlow 2.15.1. The first reads weights and forgets them: with weights of 0 the loss is what
# it was. The second multiplies its CRF loss by the weight of the first text of a batch, and its DSC loss by that of the
# second: with weights of 0 for the first two of 64 texts nothing is learned, with 0 for all others all is. The DSC loss
# has no mask: it counts padding as words of tag 0, and is another one if texts are padded.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf2crf==0.1.33
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from tf2crf import CRF, ModelWithCRFLoss, ModelWithCRFLossDSCLoss

rng = np.random.default_rng(0)
words = rng.integers(1, 20, (64, 8))
tags = words % 4
first_two, others = np.ones(64), np.zeros(64)
first_two[:2], others[:2] = 0, 1


def tagger(kind):
    tf.keras.utils.set_random_seed(0)
    ids = tf.keras.Input((None,), dtype="int32")
    scores = tf.keras.layers.Embedding(20, 4, mask_zero=True)(ids)
    model = kind(tf.keras.Model(ids, CRF()(scores)))
    model.compile()
    return model


def losses(kind):
    model = tagger(kind)

    values = []
    for weights in (None, np.zeros(64), first_two, others):
        result = model.evaluate(words, tags, sample_weight=weights, batch_size=64, verbose=0, return_dict=True)
        values.append(f"{result['loss_val']:.2f}")
    return " ".join(values)


dsc = np.zeros(64)
dsc[1] = 1
parts = []
for padding in (0, 8):
    padded = [np.pad(array, ((0, 0), (0, padding))) for array in (words, tags)]
    result = tagger(ModelWithCRFLossDSCLoss).evaluate(
        *padded, sample_weight=dsc, batch_size=64, verbose=0, return_dict=True
    )
    parts.append(f"{result['loss_val']:.4f}")
print(
    f"tf2crf {importlib.metadata.version('tf2crf')}, loss without weights, with 0, 0 for two, 0 for all others:",
    f"CRF {losses(ModelWithCRFLoss)}; CRF and DSC {losses(ModelWithCRFLossDSCLoss)};",
    f"DSC {parts[0]}, padded {parts[1]}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf2crf 0.1.33, loss without weights, with 0, 0 for two, 0 for all others: CRF 11.70 11.70 11.70 11.70;\
 CRF and DSC 12.05 0.00 0.00 12.05; DSC 0.3574, padded 0.3569"
