#!/usr/bin/env bash
# The CRF of TensorFlow Addons tags the first n places of a masked text, padding included, if its words stand elsewhere.
#
# Guess before the run: the layer reads the places that its mask names, or refuses a mask that it can't read, as it
# says of padding on the left.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. It takes the sum of the mask for the length, and refuses
# padding on the left only outside of a graph: in `predict` and `fit` a text that is padded on the left is tagged as
# if it began with its padding, and its last words have the tag 0. A mask of BERT's first pieces, with gaps, is
# refused nowhere: the pieces between count as words, the last words not. Of 200 texts of 8 words among 16 places all
# are tagged as without padding if it is on the right, none if it is on the left, and 4 if it is between.
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

rng = np.random.default_rng(0)
tf.keras.utils.set_random_seed(0)
crf = tfa.layers.CRF(4, use_kernel=False)
words = rng.normal(size=(200, 8, 4)).astype("float32")  # the scores of 4 tags
right = crf(tf.constant(words))[0].numpy()
in_graph = tf.function(lambda scores, mask: crf(scores, mask=mask)[0])


def same(places):
    """How many texts have the tags that they have without padding, or how it is refused; in a graph and outside."""
    scores, mask = np.zeros((200, 16, 4), "float32"), np.zeros((200, 16), bool)
    scores[:, places], mask[:, places] = words, True
    results = []
    for call in (in_graph, lambda scores, mask: crf(scores, mask=mask)[0]):
        try:
            tags = call(tf.constant(scores), tf.constant(mask)).numpy()[:, places]
            results.append(str((tags == right).all(-1).sum()))
        except NotImplementedError:
            results.append("refused")
    return " ".join(results)


kinds = {"right": np.arange(8), "left": np.arange(8, 16), "between": np.arange(0, 16, 2)}
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    "texts with the right tags of 200, in a graph and outside: padding",
    ", ".join(f"{name} {same(places)}" for name, places in kinds.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, texts with the right tags of 200, in a graph and\
 outside: padding right 200 200, left 0 refused, between 4 4"
