#!/usr/bin/env bash
# A word that is not in the vocabulary raises in TensorFlow, and is the last word under `jit_compile`, or -1 the first.
#
# Guess before the run: `tf.gather` of an id that a table does not have raises on the CPU, or gives zeros, as its page
# says of the GPU, with `jit_compile=True`, too.
# Seen: TensorFlow 2.20.0 on a CPU. Under `jit_compile` ids are cut to the table: 3 and 1000 of three words are word 2,
# and -1 and -100 are word 0, where Python counts from the end. `tf.nn.embedding_lookup` and `tf.gather_nd` do the same.
# The gradient leaves such ids out, so that it is that of another model than the one that was computed. A tokenizer of
# another vocabulary, or labels of -100 that are looked up, train and score as if nothing were wrong.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import tensorflow as tf

table = tf.constant([[10.0], [20.0], [30.0]])
ids = tf.constant([0, 3, 1000, -1, -100])
lookups = {
    "gather": lambda: tf.gather(table, ids),
    "embedding_lookup": lambda: tf.nn.embedding_lookup(table, ids),
    "gather_nd": lambda: tf.gather_nd(table, ids[:, None]),
}


def gradient():
    with tf.GradientTape() as tape:
        tape.watch(table)
        total = tf.reduce_sum(tf.gather(table, ids))
    return tf.convert_to_tensor(tape.gradient(total, table))


lookups["gradient"] = gradient
lookups["scatter_nd"] = lambda: tf.scatter_nd(ids[:, None], tf.ones((5, 1)), (3, 1))
parts = []
for name, lookup in lookups.items():
    found = []
    for compiled in (False, True):
        try:
            values = tf.function(lookup, jit_compile=compiled)().numpy().ravel()
            found.append(" ".join(f"{value:g}" for value in values))
        except tf.errors.InvalidArgumentError:
            found.append("an error")
    parts.append(f"{name} {found[0]}, compiled {found[1]}")
print(f"tensorflow {tf.__version__}: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 CUDA_VISIBLE_DEVICES=-1 \
    "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0: gather an error, compiled 10 30 30 10 10; embedding_lookup an error, compiled 10\
 30 30 10 10; gather_nd an error, compiled 10 30 30 10 10; gradient an error, compiled 1 0 0; scatter_nd an error,\
 compiled 1 0 0"
