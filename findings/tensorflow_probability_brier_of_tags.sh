#!/usr/bin/env bash
# The Brier score that TensorFlow Probability has of tags is of other probabilities: its softmax goes over the words.
#
# Guess before the run: `brier_score` takes labels of any shape (N1, ..., Nk) and logits of (N1, ..., Nk, classes), as
# it says: the scores of [texts, words] are those of the same words one after the other.
# Seen: tensorflow-probability 0.25.0 with TensorFlow 2.20.0. The softmax is along axis 1, which is the classes only if
# there is one dimension before them. Of texts of 12 words and 3 tags, all predicted right, the score is -.25 instead
# of -.84, and of texts of one word, whose "probabilities" are all 1, it is 1.00, worse than that of any distribution.
# By hand, and of words in a row, it is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 tensorflow-probability==0.25.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

logits = np.random.default_rng(0).normal(scale=2, size=(8, 12, 3)).astype("float32")  # texts, words, tags
labels = logits.argmax(-1)  # a tagger that is always right


def right(labels, logits):
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    chosen = np.take_along_axis(probabilities, labels[..., None], -1)[..., 0]
    return ((probabilities**2).sum(-1) - 2 * chosen).mean()


def scores(words):
    """Of the first words of the texts: in the shape of the texts, one word after the other, and by hand."""
    some, several = labels[:, :words], logits[:, :words]
    flat = tfp.stats.brier_score(some.reshape(-1), several.reshape(-1, 3))
    values = (tfp.stats.brier_score(some, several).numpy().mean(), flat.numpy().mean(), right(some, several))
    return " ".join(f"{value:.2f}" for value in values)


print(
    f"tensorflow-probability {importlib.metadata.version('tensorflow-probability')}, tensorflow {tf.__version__},",
    f"scores of texts, of words in a row, by hand: 1 word {scores(1)}, 2 {scores(2)}, 12 {scores(12)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-probability 0.25.0, tensorflow 2.20.0, scores of texts, of words in a row, by hand: 1 word\
 1.00 -0.88 -0.88, 2 -0.12 -0.84 -0.84, 12 -0.25 -0.84 -0.84"
