#!/usr/bin/env bash
# A hidden word takes all attention in keras-xlnet: its score is subtracted before the mask, and nothing is left.
#
# Guess before the run: a word that the permutation mask or the padding mask hides changes nothing: of the one word that
# is seen, whose value is 1, a word reads 1, whatever the hidden word is.
# Seen: keras-xlnet 0.20.0, TensorFlow 2.15.1. It reads .98 where the score of the hidden word is higher by 12, half
# where it is higher by 16, and .02 where by 20. The largest score is taken over all keys, hidden ones, too; the
# exponentials of those that are seen are then tiny, and the 1e-7 that is added to their sum is as large. So the word
# that is to be predicted shows through, and a long padding may take the attention away. A mask that is added before the
# softmax, as in XLNet, has 1.00 in all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-xlnet==0.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import tensorflow as tf

# The layer is loaded from its file: the package's import wants three packages of older Keras.
package = importlib.metadata.distribution("keras-xlnet")
spec = importlib.util.spec_from_file_location("attention", package.locate_file("keras_xlnet/attention.py"))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
layer = module.RelativePartialMultiHeadSelfAttention(units=1, num_head=1, kernel_initializer="ones")


def read(hidden):
    """Returns what a word reads that sees one word, whose value is 1, and not the next one."""
    content = tf.constant([[[1.0], [hidden]]])
    sizes = ((1, 2, 2, 2), (2, 1), (1, 4, 1), (1,), (1,), (1,))
    others = [tf.zeros(size) for size in sizes]
    permutation = tf.constant([[[1.0, 0.0], [1.0, 0.0]]])
    return float(layer([tf.ones((1, 2, 1)), content, tf.zeros((1, 0, 1)), *others, permutation])[0, 0, 0])


words = [f"{more} {read(1.0 + more):.2f}" for more in (0, 12, 16, 20)]
print(
    f"keras-xlnet {package.version}, what a word reads of a value of 1 if the score of a hidden word is higher by:",
    ", ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-xlnet 0.20.0, what a word reads of a value of 1 if the score of a hidden word is higher by: 0 1.\
00, 12 0.98, 16 0.53, 20 0.02"
