#!/usr/bin/env bash
# Cohen's kappa of TensorFlow Addons is -1.00 for a perfect classifier of two classes, where three classes give it 1.00.
#
# Guess before the run: `CohenKappa(num_classes=2)` takes one-hot labels and probabilities [texts, 2] as it takes
# those [texts, 3] of three classes, and says 1 of a model that is always right.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. With two classes it reads a label and a score for each text,
# compares the scores with .5, and makes pairs of what stands side by side in a row: the two values of the labels are
# one pair, those of the predictions another. Every row is counted as two errors, whatever it says: a model that is
# always right, one always wrong, and one that guesses, have -1.00, or near it where the classes are of other sizes,
# and nothing is said. The labels [texts] and the second column give 1.00, -1.00 and what is due.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

rng = np.random.default_rng(0)


def kappas(classes):
    """Of a classifier that is always right, one always wrong, and one that guesses; of two classes also by columns."""
    labels = rng.integers(0, classes, 200)
    predictions = {"right": labels, "wrong": (labels + 1) % classes, "guessed": rng.integers(0, classes, 200)}
    words = []
    for name, predicted in predictions.items():
        metric = tfa.metrics.CohenKappa(num_classes=classes)
        metric.update_state(tf.one_hot(labels, classes), 0.8 * tf.one_hot(predicted, classes) + 0.1)
        words.append(f"{name} {float(metric.result()):.2f}")
        if classes == 2:
            metric = tfa.metrics.CohenKappa(num_classes=2)
            metric.update_state(labels, 0.8 * predicted + 0.1)
            words[-1] += f" ({float(metric.result()):.2f})"
    return f"{classes} classes: {', '.join(words)}"


print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"kappa of {kappas(3)}; {kappas(2)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, kappa of 3 classes: right 1.00, wrong -0.49, guessed\
 0.09; 2 classes: right -1.00 (1.00), wrong -1.00 (-1.00), guessed -1.00 (0.12)"
