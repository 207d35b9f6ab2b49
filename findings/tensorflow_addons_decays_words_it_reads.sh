#!/usr/bin/env bash
# AdamW of TensorFlow Addons decays a word's embedding only in steps that read the word: rare words keep their length.
#
# Guess before the run: `AdamW(weight_decay=.01)` makes all weights of a table of words smaller by a hundredth in
# each step, as BERT's own optimizer and Keras' AdamW do; "decays the weights" is all that it says.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. A table that is only looked up has gradients of the rows
# that were read, and the decay is applied to those rows: after 100 steps the length of a word that is in every batch
# is .37 of what it was, of one in every tenth .90, of one that is in none 1.00. If the same table also makes the
# scores of a masked LM, all rows have gradients, and all words are at .37, as in Keras' AdamW both times.
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


def lengths(make, tied):
    """Of a word in every batch, one in every tenth, and one in none, after 100 steps without any loss."""
    table = tf.Variable(np.ones((3, 1), "float32"))
    optimizer = make()
    for step in range(100):
        with tf.GradientTape() as tape:
            vectors = tf.gather(table, [0, 1] if step % 10 == 0 else [0])
            loss = 0.0 * tf.reduce_sum(tf.matmul(vectors, table, transpose_b=True) if tied else vectors)
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
    return " ".join(f"{length:.2f}" for length in table.numpy()[:, 0])


kinds = {
    "AdamW of Addons": lambda: tfa.optimizers.AdamW(weight_decay=0.01, learning_rate=0.1),
    "of Keras": lambda: tf.keras.optimizers.AdamW(weight_decay=0.1, learning_rate=0.1),  # times the rate
}
words = [f"{name} {lengths(make, False)}, tied {lengths(make, True)}" for name, make in kinds.items()]
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"lengths of a frequent, a rare and an absent word: {'; '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, lengths of a frequent, a rare and an absent word: AdamW\
 of Addons 0.37 0.90 1.00, tied 0.37 0.37 0.37; of Keras 0.37 0.37 0.37, tied 0.37 0.37 0.37"
