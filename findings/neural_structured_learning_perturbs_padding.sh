#!/usr/bin/env bash
# With `random_init` Neural Structured Learning perturbs padding, which its `feature_mask` says is "*not* perturbed".
#
# Guess before the run: adversarial neighbours of word vectors with a mask of 0 at padding ("input features
# corresponding to mask values of 0.0 are *not* perturbed", as AdvNeighborConfig says) move the words and leave padding,
# whether or not projected gradient descent begins at a random point.
# Seen: neural-structured-learning 1.4.0 with TensorFlow 2.15.1. Without `random_init` padding stays as it is. With it,
# the random point is drawn for all places and no step takes it back, for the mask holds the gradients alone: with the
# infinity norm padding moves by .25, all that is allowed, as the words do; with the L2 norm and three steps by half as
# much as the words, whose distance it shares. A model that pools all places is trained on it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.15.1 numpy==1.26.4 neural-structured-learning==1.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf

from neural_structured_learning.configs import AdvNeighborConfig
from neural_structured_learning.lib import gen_adv_neighbor

random = np.random.default_rng(0)
words = tf.constant(random.normal(size=(16, 6, 8)), tf.float32)
kernel = tf.constant(random.normal(size=(8, 1)), tf.float32)
labels = tf.constant(random.integers(2, size=(16, 1)), tf.float32)
mask = tf.constant(np.broadcast_to(np.arange(6)[:, None] < 4, (16, 6, 1)), tf.float32)


def model(words):
    return tf.reduce_mean(words @ kernel, axis=1)


def loss(labels, logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))


found = []
for norm in ("infinity", "l2"):
    for start in (False, True):
        tf.random.set_seed(1)
        config = AdvNeighborConfig(mask, 0.1, norm, pgd_iterations=3, pgd_epsilon=0.25, random_init=start)
        with tf.GradientTape() as tape:
            tape.watch(words)
            value = loss(labels, model(words))
        neighbors, _ = gen_adv_neighbor(
            words, value, config, gradient_tape=tape, pgd_model_fn=model, pgd_loss_fn=loss, pgd_labels=labels
        )
        moved = np.abs(neighbors - words)
        found.append(f"{norm}{' random_init' if start else ''} {moved[:, :4].max():.2f} {moved[:, 4:].max():.2f}")
version = importlib.metadata.version("neural-structured-learning")
print(f"neural-structured-learning {version}, words and padding move by: {', '.join(found)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "neural-structured-learning 1.4.0, words and padding move by: infinity 0.25 0.00, infinity random_init\
 0.25 0.25, l2 0.09 0.00, l2 random_init 0.12 0.06"
