#!/usr/bin/env bash
# With gamma .5 one text that a BERT is surely right about makes all gradients NaN in the package focal-loss.
#
# Guess before the run: a text that is surely right has a loss and a gradient of 0, whatever gamma is; the paper tries
# gamma 0, .5, 1, 2 and 5, and with 0 the loss is the cross entropy.
# Seen: focal-loss 0.0.7. From a margin of 17 on the probability is 1 in float32, and the factor (1 - p) to the power of
# gamma has an infinite slope at 0 if gamma is below 1. Its product with the slope 0 of p is NaN, while the loss itself
# stays a usual number: .18. This holds for both losses, and for gamma 0, too, where the cross entropy has the gradient
# 0. With gamma 1 and 2 it is right. One such text in a batch makes all weights NaN in the next step. "More numerically
# stable" is what its page says of `from_logits=True`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    focal-loss==0.0.7
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import tensorflow as tf
from focal_loss import BinaryFocalLoss, SparseCategoricalFocalLoss

cases = {
    "two texts of three classes": (SparseCategoricalFocalLoss, [0, 1], [[20.0, -20.0, 0.0], [0.0, 1.0, 0.0]]),
    "two of yes or no": (BinaryFocalLoss, [1.0, 0.0], [20.0, 1.0]),
}
parts = []
for name, (make, labels, scores) in cases.items():
    for gamma in (0.0, 0.5, 1.0, 2.0):
        logits = tf.Variable(scores)
        with tf.GradientTape() as tape:
            loss = make(gamma=gamma, from_logits=True)(tf.constant(labels), logits)
        first = tape.gradient(loss, logits).numpy()[0].max()
        parts.append(f"{name if gamma == 0 else ''} gamma {gamma:g} loss {loss:.2f} gradient {first:.2f}".strip())
print(f"focal-loss {importlib.metadata.version('focal-loss')}: {', '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "focal-loss 0.0.7: two texts of three classes gamma 0 loss 0.28 gradient nan, gamma 0.5 loss 0.18\
 gradient nan, gamma 1 loss 0.12 gradient 0.00, gamma 2 loss 0.05 gradient 0.00, two of yes or no gamma 0 loss 0.66\
 gradient nan, gamma 0.5 loss 0.56 gradient nan, gamma 1 loss 0.48 gradient 0.00, gamma 2 loss 0.35 gradient 0.00"
