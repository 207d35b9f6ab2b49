#!/usr/bin/env bash
# Weights of texts and classes weigh no text in the loss of coral-ordinal: its mean is multiplied by their mean.
#
# Guess before the run: `class_weight` and `sample_weight` of Keras weigh the losses of texts in `OrdinalCrossEntropy`,
# as in every Keras loss, and a weight of 0 leaves a text out.
# Seen: coral-ordinal 0.1.8 with tf_keras 2.20.1. Of 100 reviews that a model can't tell apart ten have four stars.
# Trained without weights it gives four stars a probability of .10; if they weigh 9, .10 again, and if they weigh 0,
# .10. The same loss, written by text, gives .10, .50 and .00. The loss takes the mean itself, before Keras has the
# weights, so that the value that is reported rises and falls with them, and rare ratings are learned as if there were
# none.
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
import tensorflow as tf
import tf_keras
from coral_ordinal import CoralOrdinal, OrdinalCrossEntropy, ordinal_softmax

ones = np.ones((100, 1), "float32")
labels = np.array([0] * 90 + [3] * 10)


def by_text(y_true, y_pred):
    levels = tf.sequence_mask(tf.reshape(tf.cast(y_true, tf.int32), [-1]), 3, dtype=tf.float32)
    return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(levels, y_pred), axis=1)


def trained(loss, weight):
    """The probability of four stars, and the loss, after training with a weight for these reviews."""
    tf_keras.utils.set_random_seed(0)
    model = tf_keras.Sequential([tf_keras.Input((1,)), CoralOrdinal(4)])
    model.compile(tf_keras.optimizers.Adam(0.05), loss)
    weights = {0: 1.0, 1: 1.0, 2: 1.0, 3: weight}
    history = model.fit(ones, labels, class_weight=weights, batch_size=100, epochs=400, verbose=0)
    share = ordinal_softmax(model(ones[:1])).numpy()[0, 3]
    return f"{share:.2f} ({history.history['loss'][-1]:.2f})"


words = []
for weight in (1.0, 9.0, 0.0):
    values = trained(OrdinalCrossEntropy(num_classes=4), weight), trained(by_text, weight)
    words.append(f"weight {weight:g}: {values[0]}, of losses by text {values[1]}")
print(f"coral_ordinal {importlib.metadata.version('coral-ordinal')}, four stars: {'; '.join(words)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "coral_ordinal 0.1.8, four stars: weight 1: 0.10 (0.98), of losses by text 0.10 (0.98); weight 9: 0.10\
 (1.76), of losses by text 0.50 (3.74); weight 0: 0.10 (0.88), of losses by text 0.00 (0.01)"
