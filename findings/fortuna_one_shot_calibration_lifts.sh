#!/usr/bin/env bash
# Fortuna's one-shot calibration lifts probabilities by half a bucket: with ten buckets .50 in the mean becomes .55.
#
# Guess before the run: OneShotBinaryClassificationMulticalibrator replaces each probability by the share of positives
# in its own bucket: the mean stays that of the labels, and a text gets the same value alone and among others.
# Seen: aws-fortuna 0.2.0. The probabilities are calibrated to begin with. With five buckets their mean rises from .50
# to .59, with ten to .55, where texts that are given one by one stay where they were but for the buckets. The new
# values are set for one probability of the batch after the other, for all that are near it, so that a later one takes
# texts of the bucket below along: 39 to 47 of 100 texts get the value of the next bucket, and which ones depends on the
# other texts.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.4.35 jaxlib==0.4.35 flax==0.8.5 optax==0.1.9 matplotlib==3.9.4 tqdm==4.70.1 scipy==1.13.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    aws-fortuna==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import numpy as np
from fortuna.conformal.multivalid.one_shot.classification.binary_multicalibrator import (
    OneShotBinaryClassificationMulticalibrator as Calibrator,
)

random = np.random.default_rng(0)
probabilities = random.uniform(size=4000).astype("float32")
labels = (random.uniform(size=4000) < probabilities).astype("int32")
test = random.uniform(size=500).astype("float32")
words = []
for buckets in (5, 10):
    calibrator = Calibrator()
    calibrator.calibrate(targets=jnp.array(labels), probs=jnp.array(probabilities), n_buckets=buckets, min_prob_b=0.0)
    together = np.array(calibrator.apply_patches(jnp.array(test)))
    alone = np.concatenate([np.array(calibrator.apply_patches(jnp.array([value]))) for value in test[:100]])
    other = (np.abs(alone - together[:100]) > 1e-6).mean()
    error = np.abs(together - test).mean(), np.abs(alone - test[:100]).mean()
    words.append(
        f"{buckets} buckets: mean {test.mean():.2f} becomes {together.mean():.2f}"
        f" (first 100 alone {test[:100].mean():.2f} becomes {alone.mean():.2f}),"
        f" {other:.2f} are others than alone, off by {error[0]:.2f} and {error[1]:.2f}"
    )
print(f"aws-fortuna {importlib.metadata.version('aws-fortuna')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aws-fortuna 0.2.0: 5 buckets: mean 0.50 becomes 0.59 (first 100 alone 0.48 becomes 0.50), 0.39 are\
 others than alone, off by 0.10 and 0.06; 10 buckets: mean 0.50 becomes 0.55 (first 100 alone 0.48 becomes 0.49),\
 0.47 are others than alone, off by 0.05 and 0.03"
