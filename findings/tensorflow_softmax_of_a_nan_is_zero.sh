#!/usr/bin/env bash
# If one score is NaN, the softmax of TensorFlow on a CPU calls all other words impossible: they are 0, not NaN.
#
# Guess before the run: a softmax over scores of which one is NaN is NaN for all, as its sum is, on any backend and by
# any path.
# Seen: TensorFlow 2.20.0. Of [1, NaN, 2, 0] it is [0, NaN, 0, 0], and of 30,522 words with one NaN nearly all are 0.
# NumPy, JAX and `jit_compile=True` of TensorFlow have NaN for all, and so has `tf.nn.log_softmax`. The sum of these
# probabilities is NaN, but each of them looks like a sure "no": a text that is broken is 0.00 spam, below any
# threshold, and an ensemble's mean takes the 0 in as an opinion. `argmax` leaves NaN out, so that the text is of class
# 0. Whoever looks for NaN in the probability of the class that counts finds none.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 jax==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import jax
import numpy as np
import tensorflow as tf

scores = np.array([[1.0, np.nan, 2.0, 0.0]], "float32")
words = np.random.default_rng(0).normal(size=(1, 30522)).astype("float32")
words[0, 7] = np.nan
with np.errstate(invalid="ignore"):
    by_hand = np.exp(scores) / np.exp(scores).sum()
kinds = {
    "NumPy": by_hand,
    "JAX": jax.nn.softmax(scores),
    "TensorFlow": tf.nn.softmax(scores),
    "tf.function": tf.function(tf.nn.softmax)(scores),
    "jit_compile": tf.function(tf.nn.softmax, jit_compile=True)(scores),
    "exp of log_softmax": tf.exp(tf.nn.log_softmax(scores)),
}
parts = [f"{name} {' '.join(f'{number:g}' for number in np.asarray(row)[0])}" for name, row in kinds.items()]
probabilities = tf.nn.softmax(words).numpy()
most = "more" if (probabilities == 0).mean() > 0.9 else "less"
best = int(tf.argmax(tf.nn.softmax(scores), axis=-1)[0])
print(f"tensorflow {tf.__version__}: {', '.join(parts)}; zeros of 30522 words {most} than 90 %; argmax {best}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: NumPy nan nan nan nan, JAX nan nan nan nan, TensorFlow 0 nan 0 0, tf.function 0 nan\
 0 0, jit_compile nan nan nan nan, exp of log_softmax nan nan nan nan; zeros of 30522 words more than 90 %; argmax 0"
