#!/usr/bin/env bash
# With one class masked by -inf the loss of one-hot labels is NaN in TensorFlow, its gradient right: it trains.
#
# Guess before the run: a class that is masked out by a logit of -inf and has the label 0 adds nothing: the loss is that
# of the other classes.
# Seen: tensorflow 2.20.0. softmax_cross_entropy_with_logits gives NaN, as 0 times -inf; its gradients are finite and
# right, and sparse_softmax_cross_entropy_with_logits on the same logits gives .313. Under jit_compile the first gives
# .313, too. So training with forbidden tags or tokens goes well while the loss reads NaN, TerminateOnNaN ends a sound
# run, and a mean over batches is NaN for good; compiled there is nothing to see.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf

logits = tf.constant([[-np.inf, 1.0, 0.0]])  # the first class is forbidden
one_hot = tf.constant([[0.0, 1.0, 0.0]])


def loss_and_gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.nn.softmax_cross_entropy_with_logits(one_hot, x)
    return loss, tape.gradient(loss, x)


plain, gradient = loss_and_gradient(logits)
compiled, compiled_gradient = tf.function(loss_and_gradient, jit_compile=True, autograph=False)(logits)
sparse = tf.nn.sparse_softmax_cross_entropy_with_logits([1], logits)
print(
    f"tensorflow {tf.__version__}: loss {plain.numpy()[0]}, compiled {compiled.numpy()[0]:.3f},",
    f"of the class's number {sparse.numpy()[0]:.3f}; gradients {np.round(gradient.numpy()[0], 3)}",
    f"and {np.round(compiled_gradient.numpy()[0], 3)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: loss nan, compiled 0.313, of the class's number 0.313; gradients [ 0.    -0.269  \
0.269] and [ 0.    -0.269  0.269]"
