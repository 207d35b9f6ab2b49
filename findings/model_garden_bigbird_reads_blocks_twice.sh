#!/usr/bin/env bash
# BigBird of the TensorFlow Model Garden gives some keys twice their weight, in the third-last and second-last block.
#
# Guess before the run: the three random blocks of keys are none of those that a block of words reads anyway (the
# window, the first and the last one), so that of equal scores all keys that a word reads have one weight.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. For these two of 16 blocks the random ones are drawn from all
# but the first and the last block, the window and the block itself included: in four or five of ten draws one of them
# is read twice and has twice the weight, and a random block less is read. A dense attention with BigBird's mask is
# another one there. The draw belongs to the layer, so that it is so for every text.
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
import tensorflow as tf
import tf_keras
from official.nlp.modeling.layers import bigbird_attention

blocks, size = 16, 64
length = blocks * size
# All scores are 0, so that every key that a word reads has the same weight; the value of a key says its block.
queries = np.zeros((1, length, 1, blocks), "float32")
values = np.repeat(np.eye(blocks, dtype="float32"), size, axis=0)[None, :, None]
band, rows, columns, blocked = bigbird_attention.BigBirdMasks(size)(queries[:, :, 0], np.ones((1, length), "float32"))
twice = np.zeros(blocks, int)
for seed in range(100):
    np.random.seed(seed)
    drawn = bigbird_attention.bigbird_block_rand_mask(length, length, size, size, 3, last_idx=length)
    weights = bigbird_attention.bigbird_block_sparse_attention(
        queries, queries, values, band, rows, columns, blocked, blocked, tf.constant(drawn[None]), 1, 3, blocks, 1,
        length, length, size, size,
    )  # fmt: skip
    for block, shares in enumerate(weights.numpy()[0, ::size, 0]):
        twice[block] += shares.max() > 1.5 * shares[shares > 0].min()
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    "how often in 100 draws a block reads another one twice:", *twice,
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, how often in 100 draws a block reads another one twice: 0 0\
 0 0 0 0 0 0 0 0 0 0 0 49 42 0"
