#!/usr/bin/env bash
# `reg_factor` of keras-multi-head, which is to keep heads apart, does nothing: it is computed once, when it is built.
#
# Guess before the run: `MultiHead(layer, layer_num=3, reg_index=0, reg_factor=...)` adds a loss that is smaller if the
# weights of the heads are unlike each other, and its gradient drives them apart.
# Seen: keras-multi-head 0.29.0 on TensorFlow 2.15.1. The loss is computed from the numbers of the weights when the
# layer is built, so that it is a constant: no weight has a gradient of it. With nothing else to learn, three heads that
# begin alike, with a cosine of .88, are as alike after 200 steps, where the same penalty of the weights themselves
# makes them unlike (.03); and once the model is called again, `losses` is empty. A regularizer of the layer that is
# wrapped works.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-multi-head==0.29.0 keras-self-attention==0.51.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from keras_multi_head import MultiHead


def cosine(heads):
    flat = [head.numpy().ravel() / np.linalg.norm(head.numpy()) for head in heads]
    return np.mean([flat[0] @ flat[1], flat[0] @ flat[2], flat[1] @ flat[2]])


tf.keras.utils.set_random_seed(0)
inputs = tf.keras.Input((5, 8))
multi = MultiHead(tf.keras.layers.Dense(4, use_bias=False), layer_num=3, reg_index=0, reg_factor=1.0)
model = tf.keras.Model(inputs, tf.keras.layers.Flatten()(multi(inputs)))
rng = np.random.default_rng(0)
starts = (rng.normal(size=(1, 8, 4)) + rng.normal(size=(3, 8, 4)) * 0.3).astype("float32")
for i, layer in enumerate(multi.layers):
    layer.kernel.assign(starts[i])
before = len(model.losses)
model.compile(tf.keras.optimizers.SGD(0.001), lambda labels, outputs: 0.0 * tf.reduce_sum(outputs))
model.fit(np.ones((32, 5, 8)), np.ones((32, 60)), epochs=200, batch_size=32, verbose=0)
after = len(model.losses)
trained = cosine([layer.kernel for layer in multi.layers])

heads = [tf.Variable(start) for start in starts]  # the same penalty, of the weights themselves
for _ in range(200):
    with tf.GradientTape() as tape:
        flat = tf.stack([tf.reshape(head, [-1]) for head in heads])
        penalty = tf.reduce_sum((flat @ tf.transpose(flat) - tf.eye(3)) ** 2)
    for head, gradient in zip(heads, tape.gradient(penalty, heads)):
        head.assign_sub(0.001 * gradient)
version = importlib.metadata.version("keras-multi-head")
print(
    f"keras-multi-head {version}: {before} loss before training, {after} after; cosine of the heads {trained:.2f},",
    f"with the same penalty of the weights {cosine(heads):.2f}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-multi-head 0.29.0: 1 loss before training, 0 after; cosine of the heads 0.88, with the same\
 penalty of the weights 0.03"
