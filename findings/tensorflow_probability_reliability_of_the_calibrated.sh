#!/usr/bin/env bash
# The Brier score's parts in TensorFlow Probability find true probabilities miscalibrated, and do not add up to it.
#
# Guess before the run: of `brier_decomposition` the reliability is 0 for probabilities that labels were drawn from, and
# the parts add up to the Brier score but for "an error of order k/n", .00015 for three classes and 20,000 texts.
# Seen: tensorflow-probability 0.25.0. The true probabilities have a reliability of .062, and the parts add up to -.524,
# where the Brier score of the same package is -.649 and its ECE .004. Probabilities that are one and the same for all
# texts of a predicted class have a reliability of 0 and parts of -.586: they seem better, and are worse. All texts with
# the same best class are one group, and what a BERT knows beyond it counts as an error of calibration.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 tensorflow-probability==0.25.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

rng = np.random.default_rng(0)
logits = (rng.normal(size=(20000, 3)) * 2).astype("float32")
labels = np.argmax(rng.gumbel(size=logits.shape) + logits, axis=1)
coarse = np.zeros_like(logits)
for place in range(3):
    rows = np.argmax(logits, axis=1) == place
    coarse[rows] = np.log(np.bincount(labels[rows], minlength=3) / rows.sum())
parts = []
for name, values in (("true probabilities", logits), ("shares of the classes", coarse)):
    uncertainty, resolution, reliability = (float(x) for x in tfp.stats.brier_decomposition(labels, values))
    score = float(tf.reduce_mean(tfp.stats.brier_score(labels, values)))
    error = float(tfp.stats.expected_calibration_error(10, values, labels))
    parts.append(
        f"{name}: Brier {score:.3f}, parts {uncertainty:.3f} - {resolution:.3f} + {reliability:.3f} ="
        f" {uncertainty - resolution + reliability:.3f}, ECE {error:.3f}"
    )
print(f"tensorflow_probability {tfp.__version__}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow_probability 0.25.0: true probabilities: Brier -0.649, parts -0.333 - 0.252 + 0.062 =\
 -0.524, ECE 0.004; shares of the classes: Brier -0.586, parts -0.333 - 0.252 + 0.000 = -0.586, ECE 0.000"
