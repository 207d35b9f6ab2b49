#!/usr/bin/env bash
# Keras' PearsonCorrelation of one score per example is NaN; along the examples it is the mean over batches,
# which on sorted data says 0.16 where the correlation is 0.97.
#
# Guess before the run: `compile(metrics=[keras.metrics.PearsonCorrelation()])` with a regression head of one
# unit, as for STS-B, gives the correlation of all scores with all labels, at any batch size.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, 256 examples sorted by label, numpy's correlation 0.971. With its
# default axis=-1 the metric correlates within an example: one number has no variance, and the result is NaN.
# With axis=0 it correlates the examples of a batch and returns the mean over the batches: 0.971 for one batch
# of 256, 0.164 for batches of 16, 0.126 for 8. ConcordanceCorrelation is built alike. Nothing is accumulated
# but that mean, so that the number depends on the order and the batch.
# The scripts of this project compute correlations of whole sets (bert_tf/evaluation).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

examples = np.arange(256, dtype=np.float32)[:, None]
scores = examples / 256
labels = scores + 0.1 * np.sin(97 * examples)


def correlation(batch_size, axis):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    model.compile(loss="mse", metrics=[keras.metrics.PearsonCorrelation(axis=axis, name="pearson")])
    return model.evaluate(scores, labels, batch_size=batch_size, verbose=0, return_dict=True)["pearson"]


print(
    f"keras {keras.__version__}: {correlation(16, -1)} by default; along the examples {correlation(256, 0):.3f}, "
    f"{correlation(16, 0):.3f}, {correlation(8, 0):.3f} with batches of 256, 16, 8; "
    f"numpy {np.corrcoef(scores[:, 0], labels[:, 0])[0, 1]:.3f}"
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: nan by default; along the examples 0.971, 0.164, 0.126 with batches of 256, 16, 8; numpy 0.971"
