#!/usr/bin/env bash
# With a NaN among them `tf.sort` returns scores out of order: -2, 1, NaN, 0 is a sorted row.
#
# Guess before the run: NaN comes last, as in NumPy and JAX, or first; the other scores are in order.
# Seen: tensorflow 2.20.0. Of most rows of eight scores with a NaN in the middle the numbers are out of order in both
# directions and by argsort, without a word. Compiled by XLA the row is in order with NaN last. A ranking with one text
# that has no score is wrong for the other texts, too.
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

rows = np.random.default_rng(0).normal(size=(100, 8)).astype("float32")
rows[:, 3] = np.nan


def in_order(table):
    return sum(bool(np.all(np.diff(row[~np.isnan(row)]) >= 0)) for row in table)


plain = tf.sort(rows, axis=1).numpy()
falling = -tf.sort(rows, axis=1, direction="DESCENDING").numpy()
order = tf.argsort(rows, axis=1).numpy()
compiled = tf.function(lambda x: tf.sort(x, axis=1), jit_compile=True)(rows).numpy()
print(
    f"tensorflow {tf.__version__}, rows of 100 whose numbers are in order: sort {in_order(plain)},",
    f"descending {in_order(falling)}, argsort {in_order(np.take_along_axis(rows, order, 1))},",
    f"compiled {in_order(compiled)}, NumPy {in_order(np.sort(rows, axis=1))};",
    f"-2, 1, NaN, 0 sorted: {tf.sort(tf.constant([1.0, float('nan'), -2.0, 0.0])).numpy().tolist()}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, rows of 100 whose numbers are in order: sort 11, descending 7, argsort 11, \
compiled 100, NumPy 100; -2, 1, NaN, 0 sorted: [-2.0, 1.0, nan, 0.0]"
