#!/usr/bin/env bash
# Groups of texts whose scores are all .5 and all 0 or 1 are "indistinguishable" for TensorFlow Model Remediation.
#
# Guess before the run: `AbsoluteCorrelationLoss` "guarantees that the result is 0 if and only if the two distributions
# it is comparing are indistinguishable": a classifier that is sure about texts of one group and never about those of
# the other has a loss above 0.
# Seen: tensorflow-model-remediation 0.1.7.1. It is 0.00 for any two groups with equal means: scores that are all .5
# beside half 0 and half 1, or .1 to .9 beside .5. At a threshold of .7 half of one group is called toxic and nobody of
# the other. MMDLoss says 1.50 and .79, and 0 for groups that are alike.
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
from tensorflow_model_remediation.min_diff import losses

groups = tf.constant(np.repeat([[0.0], [1.0]], 10, 0), tf.float32)
correlation = losses.AbsoluteCorrelationLoss(enable_summary_histogram=False)
distance = losses.MMDLoss(enable_summary_histogram=False)
spread = np.linspace(0.1, 0.9, 10)
cases = {
    "half 0 and half 1 beside .5": ([0, 1] * 5, [0.5] * 10),
    ".1 to .9 beside .5": (spread, [0.5] * 10),
    "alike": (spread, spread),
    ".4 beside .6": ([0.4] * 10, [0.6] * 10),
}
parts = []
for name, scores in cases.items():
    predictions = tf.constant(np.concatenate(scores)[:, None], tf.float32)
    values = (abs(float(loss(groups, predictions))) for loss in (correlation, distance))
    parts.append(f"{name} {' '.join(f'{value:.2f}' for value in values)}")
version = importlib.metadata.version("tensorflow-model-remediation")
print(f"tensorflow-model-remediation {version}, correlation and MMD: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-remediation 0.1.7.1, correlation and MMD: half 0 and half 1 beside .5 0.00 1.50; .1\
 to .9 beside .5 0.00 0.79; alike 0.00 0.00; .4 beside .6 1.00 1.96"
