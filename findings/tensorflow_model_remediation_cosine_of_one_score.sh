#!/usr/bin/env bash
# TensorFlow Model Remediation's cosine loss is -1, its best, for a score of .99 of a text and one of .01 of its pair.
#
# Guess before the run: `PairwiseCosineLoss`, which "computes the cosine distance between the original and
# counterfactual", is smallest where a text and its pair, with "he" for "she", have one score, and its gradient draws
# the scores together.
# Seen: tensorflow-model-remediation 0.1.7.1. A toxicity model has one score for a text, [batch, 1], and the cosine of
# two positive numbers is 1: the loss is -1.00 for scores of .99 and .01, and its gradient is 0. A logit of 4 and one of
# -4 cost 1, and are left as they are, too. A CounterfactualModel with this loss is trained by its own labels alone. The
# losses by squares and by absolute differences are right. With two columns of probabilities the cosine works.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6 dill==0.4.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-model-remediation==0.1.7.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The losses and models alone, without the tools of the tutorials that the whole package imports.
package = types.ModuleType("tensorflow_model_remediation")
package.__path__ = list(importlib.util.find_spec("tensorflow_model_remediation").submodule_search_locations)
sys.modules[package.__name__] = package

import numpy as np
import tensorflow as tf
from tensorflow_model_remediation.counterfactual import losses

cases = {
    "one score .99 and .01": ([[0.99]], [[0.01]]),
    "equal scores": ([[0.5]], [[0.5]]),
    "logits 4 and -4": ([[4.0]], [[-4.0]]),
    "two columns": ([[0.99, 0.01]], [[0.01, 0.99]]),
}
kinds = losses.PairwiseCosineLoss(), losses.PairwiseMSELoss(), losses.PairwiseAbsoluteDifferenceLoss()
parts = []
for name, (original, other) in cases.items():
    words = []
    for loss in kinds:
        scores = tf.Variable(original)
        with tf.GradientTape() as tape:
            value = loss(scores, tf.constant(other))
        gradient = np.abs(tape.gradient(value, scores)).max()
        words.append(f"{value:.2f} ({gradient if gradient > 1e-5 else 0:.2f})")
    parts.append(f"{name} {' '.join(words)}")
version = importlib.metadata.version("tensorflow-model-remediation")
print(f"tensorflow-model-remediation {version}, cosine, squares, differences (gradient): {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-remediation 0.1.7.1, cosine, squares, differences (gradient): one score .99 and .01\
 -1.00 (0.00) 0.96 (1.96) 0.98 (1.00); equal scores -1.00 (0.00) 0.00 (0.00) 0.00 (0.00); logits 4 and -4 1.00 (0.00)\
 64.00 (16.00) 8.00 (1.00); two columns -0.02 (1.01) 0.96 (0.98) 0.98 (0.50)"
