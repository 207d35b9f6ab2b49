#!/usr/bin/env bash
# With `linformer_dim` a block of the TensorFlow Model Garden erases the words of texts padded on the left, or packed.
#
# Guess before the run: TransformerEncoderBlock with `linformer_dim` leaves masked words out before it projects the
# keys, "so that padding is accounted for", and its words keep their residual: six words have six outputs, whatever
# their mask, as without the option.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. Whether a word is padding is read from the first column of its
# mask, whether it may read the first key: with padding on the left that is 0 for all words, whose vectors are then
# multiplied by 0, the residual included, so that all have one and the same output. Of two packed texts the second one
# is erased, and both read the keys of the first. Only padding on the right is right, as the masks of its words differ
# in nothing else.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tf_keras
from official.nlp.modeling import layers

states = np.random.default_rng(0).normal(size=(1, 6, 8)).astype("float32")


def keys(*mask):
    return np.broadcast_to(np.array(mask, "float32"), (1, 6, 6))


masks = {
    "padding on the right": keys(1, 1, 1, 1, 0, 0),
    "on the left": keys(0, 0, 1, 1, 1, 1),
    "two packed texts": np.kron(np.eye(2), np.ones((3, 3)))[None].astype("float32"),
}


def different(mask, **settings):
    """How many different outputs the words have, the first three and the last three of six."""
    tf_keras.utils.set_random_seed(0)
    layer = layers.TransformerEncoderBlock(num_attention_heads=2, inner_dim=16, inner_activation="gelu", **settings)
    outputs = layer([states, mask]).numpy()[0].round(4)
    return " and ".join(str(len(np.unique(part, axis=0))) for part in (outputs[:3], outputs[3:]))


seen = []
for name, mask in masks.items():
    seen.append(f"{name} {different(mask)}, with linformer_dim {different(mask, linformer_dim=3)}")
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"different outputs: {'; '.join(seen)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, different outputs: padding on the right 3 and 3, with\
 linformer_dim 3 and 3; on the left 3 and 3, with linformer_dim 1 and 1; two packed texts 3 and 3, with\
 linformer_dim 3 and 1"
