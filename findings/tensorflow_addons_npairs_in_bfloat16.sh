#!/usr/bin/env bash
# In bfloat16 the n-pairs loss of TensorFlow Addons takes texts with the labels 256 and 257 for texts of one class.
#
# Guess before the run: NpairsLoss over numbers of sentences, each beside its own translation, costs as good as
# nothing where every pair's similarity is the highest, in float32 or bfloat16.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. It casts labels to the type of the similarities before it
# compares them. bfloat16 counts to 256 in ones: of 8 right pairs with the labels 0 to 7 the loss is 0.00, from 252
# on 2.50, from 1,000 on 12.50, and from 4,000 on 17.50, which no training can lower, since all are of one class. In
# float16 the same begins at 2,048. NpairsMultilabelLoss, and the triplet losses, which compare labels as they are,
# stay right.
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

import tensorflow as tf
import tensorflow_addons as tfa

right = 20.0 * tf.eye(8)  # the similarities of 8 sentences and their translations


def losses(dtype):
    values = []
    for first in (0, 252, 1000, 4000):
        loss = tfa.losses.NpairsLoss()(tf.range(first, first + 8), tf.cast(right, dtype))
        values.append(f"{float(loss):.2f}")
    return f"{dtype} {' '.join(values)}"


print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    "loss of 8 right pairs with labels from 0, 252, 1000, 4000:",
    ", ".join(losses(dtype) for dtype in ("float32", "float16", "bfloat16")),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, loss of 8 right pairs with labels from 0, 252, 1000,\
 4000: float32 0.00 0.00 0.00 0.00, float16 0.00 0.00 0.00 7.50, bfloat16 0.00 2.50 12.50 17.50"
