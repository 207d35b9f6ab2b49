#!/usr/bin/env bash
# `causal_padding="left"` of KernelAttention of the TensorFlow Model Garden gives words the outputs of earlier ones.
#
# Guess before the run: ten words in chunks of four have the outputs that the layer computes for them in a sequence of
# twelve which begins with two masked words, as it is with `causal_padding="right"` for one that ends with two.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. The padding is put before the words, but the first ten
# outputs of the twelve are returned: two vectors of zeros (those of the padding), then the outputs of words 0 to 7.
# Those of the last two words are lost. Only a length that the chunk divides is not shifted.
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

states = np.random.default_rng(0).normal(size=(1, 10, 16)).astype("float32")


def compare(padding):
    """Whose output is at each place: that of the word which the layer computes of a sequence of whole chunks."""
    layer = layers.KernelAttention(
        num_heads=2, key_dim=8, feature_transform="elu", num_random_features=0, use_bias=False,
        use_causal_windowed=True, causal_chunk_length=4, causal_window_length=2, causal_padding=padding,
    )  # fmt: skip
    found = layer(states, states)[0]
    before = [(0, 0), (2, 0), (0, 0)] if padding == "left" else [(0, 0), (0, 2), (0, 0)]
    whole, mask = np.pad(states, before), np.pad(np.ones((1, 10), "float32"), before[:2])
    right = layer(whole, whole, attention_mask=mask)[0]
    right = right[2:] if padding == "left" else right[:10]
    places = []
    for output in found:
        same = [word for word in range(10) if np.allclose(right[word], output, atol=1e-4)]
        places.append(str(same[0]) if same else "0 vector" if not np.any(output) else "none")
    return ", ".join(places)


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"words of the outputs: padded on the right {compare('right')}; on the left {compare('left')}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, words of the outputs: padded on the right 0, 1, 2, 3, 4, 5,\
 6, 7, 8, 9; on the left 0 vector, 0 vector, 0, 1, 2, 3, 4, 5, 6, 7"
