#!/usr/bin/env bash
# MultiOptimizer of TensorFlow Addons updates tied word embeddings twice in a step, once for each layer that holds them.
#
# Guess before the run: one optimizer for the encoder and one for the head, `MultiOptimizer([(a, encoder), (b,
# head)])`, or one for a list of both, updates each weight once in a step, as `compile(a)` does.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. Weights are looked up by name in the list of each pair,
# which has a weight as often as layers hold it. A masked LM's output layer holds the table of words: with one list
# it moves by twice the rate, and with two optimizers by the sum of both. Other weights move as they should, and
# nothing is said.
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

SGD = tf.keras.optimizers.legacy.SGD


class Head(tf.keras.layers.Layer):
    """Scores of all words by the table of their embeddings, as in BERT's masked LM."""

    def __init__(self, words):
        super().__init__()
        self.words = words
        self.bias = self.add_weight("bias", shape=(20,))

    def call(self, inputs):
        return tf.matmul(inputs, self.words.embeddings, transpose_b=True) + self.bias


def moves(make):
    """How far the table and the bias move in a step."""
    tf.keras.utils.set_random_seed(0)
    words, ids = tf.keras.layers.Embedding(20, 8), tf.keras.Input((4,), dtype="int32")
    vectors = words(ids)
    head = Head(words)
    model = tf.keras.Model(ids, head(vectors))
    before = [words.embeddings.numpy(), head.bias.numpy()]
    model.compile(make(words, head), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.train_on_batch(np.array([[1, 2, 3, 4]]), np.array([[5, 6, 7, 8]]))
    after = [words.embeddings.numpy(), head.bias.numpy()]
    return " ".join(f"{np.linalg.norm(new - old):.4f}" for new, old in zip(after, before))


alone = moves(lambda words, head: SGD(0.1))
one = moves(lambda words, head: tfa.optimizers.MultiOptimizer([(SGD(0.1), [words, head])]))
two = moves(lambda words, head: tfa.optimizers.MultiOptimizer([(SGD(0.1), words), (SGD(0.1), head)]))
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"moves of table and bias: SGD {alone}, one list {one}, two optimizers {two}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, moves of table and bias: SGD 0.0056 0.0458, one list\
 0.0112 0.0458, two optimizers 0.0112 0.0458"
