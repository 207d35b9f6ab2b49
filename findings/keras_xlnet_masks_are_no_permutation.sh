#!/usr/bin/env bash
# The permutation masks of keras-xlnet are no permutation: two words may both see each other, which shows what is asked.
#
# Guess before the run: while it is trained `PermutationMask` draws an order of the words for each text, and lets a word
# see those that come before it in this order: of two words one at most sees the other.
# Seen: keras-xlnet 0.20.0, texts of 16 words. A word sees the first words of the text, as many as the number that was
# drawn for it: the places are compared with the drawn order, not the order with itself. In 1,000 masks .27 of the pairs
# of words see each other and .21 do not see each other at all; with an order both are 0. In the content stream .47 of
# the words do not see themselves. Where two words see each other the second layer reads a word that it is to predict
# from the other one. All texts of a batch have the same draw.
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
import sys
import types

# The layer alone, without the packages that the whole model is made of.
package = types.ModuleType("keras_xlnet")
package.__path__ = list(importlib.util.find_spec("keras_xlnet").submodule_search_locations)
sys.modules["keras_xlnet"] = package

import numpy as np
import tensorflow as tf
from keras_xlnet.permutation import PermutationMask

tf.random.set_seed(0)
layer = PermutationMask(directional=True)
inputs = [tf.zeros([2, 16, 4]), tf.zeros([2, 0, 4])]
content, query = (np.array(masks) for masks in zip(*(layer(inputs, training=True) for _ in range(1000))))
same = np.array_equal(content[:, 0], content[:, 1])
content, query = content[:, 0], query[:, 0]
# An order of the words, drawn by NumPy, and the masks that it has.
order = np.argsort(np.random.default_rng(0).normal(size=(1000, 16)))
right = (order[:, None] <= order[:, :, None]).astype(float)


def numbers(content, query):
    """Shares of pairs that see each other or neither, and of words that do not see themselves in the content stream."""
    pairs = ~np.eye(16, dtype=bool)
    both, neither = query * query.transpose(0, 2, 1), (1 - query) * (1 - query.transpose(0, 2, 1))
    itself = 1 - np.diagonal(content, axis1=1, axis2=2).mean()
    return f"both {both[:, pairs].mean():.2f} neither {neither[:, pairs].mean():.2f} not itself {itself:.2f}"


prefix = bool((np.diff(content, axis=2) <= 0).all())
print(
    f"keras-xlnet {importlib.metadata.version('keras-xlnet')}: {numbers(content, query)},",
    f"by an order {numbers(right, right * (1 - np.eye(16)))}; only first words are seen: {prefix},",
    f"one draw for all texts: {same}",
)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-xlnet 0.20.0: both 0.27 neither 0.21 not itself 0.47, by an order both 0.00 neither 0.00 not\
 itself 0.00; only first words are seen: True, one draw for all texts: True"
