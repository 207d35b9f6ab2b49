#!/usr/bin/env bash
# Weights of texts and classes weigh no text in the loss of coral-ordinal: its mean is multiplied by their mean.
#
# Guess before the run: `sample_weight` and `class_weight` of Keras weigh the losses of texts in `OrdinalCrossEntropy`,
# as in every Keras loss, and a weight of 0 leaves a text out.
# Seen: coral-ordinal 0.1.8 with tf_keras 2.20.1. Of 100 reviews ten have four stars, which an untrained model finds
# worse than the rest. Without weights the loss is 2.237, as a loop over texts says. If the ten weigh 9 it is 4.027
# instead of 5.576, 1.8 times the first one, and if they weigh 0 it is 2.013 instead of 1.820, .9 times: their gradients
# stay. The loss takes the mean itself, before Keras has the weights. Rare ratings are trained as if no weights were
# given.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    coral-ordinal==0.1.8
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tf_keras
from coral_ordinal import CoralOrdinal, OrdinalCrossEntropy

features = np.eye(2, dtype="float32")[[0] * 90 + [1] * 10]
labels = np.array([0] * 90 + [3] * 10)
weights = np.where(labels == 3, 9.0, 1.0)


def by_text(y, logits):
    levels = np.arange(3) < np.asarray(y).reshape(-1, 1)
    return np.sum(np.log1p(np.exp(np.where(levels, -logits, logits))), axis=1)


model = tf_keras.Sequential([tf_keras.Input((2,)), CoralOrdinal(4)])
model.compile("sgd", OrdinalCrossEntropy(num_classes=4))
logits = model.predict(features, verbose=0)
words = []
for name, chosen in (("none", None), ("9 for four stars", weights), ("0 for four stars", (labels < 3).astype(float))):
    loss = model.evaluate(features, labels, sample_weight=chosen, batch_size=100, verbose=0)
    right = np.mean(by_text(labels, logits) * (1 if chosen is None else chosen))
    words.append(f"weights {name}: {loss:.3f} of {right:.3f}")
print(f"coral_ordinal {importlib.metadata.version('coral-ordinal')}: {'; '.join(words)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "coral_ordinal 0.1.8: weights none: 2.246 of 2.246; weights 9 for four stars: 4.042 of 5.637; weights 0\
 for four stars: 2.021 of 1.822"
