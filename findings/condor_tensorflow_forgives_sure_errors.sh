#!/usr/bin/env bash
# A review that a model is surely wrong about teaches it nothing in condor-tensorflow: the gradient is .02 of 1 at 20.
#
# Guess before the run: CondorOrdinalCrossEntropy takes logits, and its gradient is about 1 for every logit that is far
# on the wrong side, as a cross entropy of logits has it.
# Seen: condor-tensorflow 1.0.1 on TensorFlow 2.20.0. The probability is made of the logit, and one less it gets 1e-7
# added before its logarithm. One star that is called more with a logit of 4 or 8 has the right loss and gradient; at 16
# the gradient is .51 of 1.00, and at 20 it is .02, with a loss of 17.10 for 20.98. Wrong labels and the worst errors of
# a BERT stay as they are.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 keras==3.15.1 scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    condor-tensorflow==1.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from condor_tensorflow import CondorOrdinalCrossEntropy

levels = tf.constant([[0.0, 0.0, 0.0]])
parts = []
for logit in (4.0, 8.0, 16.0, 20.0):
    value = tf.Variable([[logit, 0.0, 0.0]])
    with tf.GradientTape() as tape:
        loss = CondorOrdinalCrossEntropy()(levels, value)
    gradient = tape.gradient(loss, value).numpy()[0]
    numbers = value.numpy()[0].astype("float64")
    reached = np.cumprod(1 / (1 + np.exp(-numbers)))
    own = -np.sum(np.log1p(-reached))
    slope = (1 - reached[0]) * np.sum(reached / (1 - reached))
    parts.append(f"logit {logit:g}: loss {float(loss):.2f} of {own:.2f}, gradient {gradient[0]:.2f} of {slope:.2f}")
print(f"condor_tensorflow {importlib.metadata.version('condor-tensorflow')}: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "condor_tensorflow 1.0.1: logit 4: loss 4.98 of 4.98, gradient 1.01 of 1.01; logit 8: loss 8.98 of\
 8.98, gradient 1.00 of 1.00; logit 16: loss 16.31 of 16.98, gradient 0.51 of 1.00; logit 20: loss 17.10 of 20.98,\
 gradient 0.02 of 1.00"
