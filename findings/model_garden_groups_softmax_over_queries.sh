#!/usr/bin/env bash
# Grouped-query and block-sparse attention of the TensorFlow Model Garden take the softmax over queries, not keys.
#
# Guess before the run: with `num_kv_heads=2` for 8 heads, or with `src_block_size=4`, the weights of each word add up
# to 1 over the keys, as with 8 key heads or with 1; padding has no weight, and under a causal mask a word does not
# change if a later one does.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The scores have five dimensions there, and the softmax that
# Keras has made for four normalizes the fourth: the queries. Over the keys the weights add up to .8 to 1.3. Padding,
# which is masked for all words alike, gets its whole share (.25 of 2 words in 8, .50 of 2 in 4), and words read later
# ones in spite of the mask. TransformerEncoderBlock and ReZeroTransformer have `num_kv_heads` and `src_block_size` as
# options.
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
from official.nlp.modeling.layers import block_sparse_attention, multi_query_attention

states = np.random.default_rng(0).normal(size=(1, 8, 32)).astype("float32")
later = states + np.eye(8, dtype="float32")[7][:, None]  # another last word
causal = np.tril(np.ones((1, 8, 8), "float32"))
padded = np.broadcast_to((np.arange(8) < 6).astype("float32"), (1, 8, 8))
kinds = {
    "8 key heads": tf_keras.layers.MultiHeadAttention(8, 4),
    "1": multi_query_attention.MultiHeadAttention(num_heads=8, key_dim=4, num_kv_heads=1),
    "2": multi_query_attention.MultiHeadAttention(num_heads=8, key_dim=4, num_kv_heads=2),
    "4": multi_query_attention.MultiHeadAttention(num_heads=8, key_dim=4, num_kv_heads=4),
    "blocks of 4": block_sparse_attention.MultiHeadAttention(num_heads=8, key_dim=4, src_block_size=4),
}


def describe(layer):
    scores = layer(states, states, return_attention_scores=True)[1].numpy()
    every = "all 1" if np.allclose(scores.sum(-1), 1) else "not 1"
    over_words = "all 1" if np.allclose(scores.sum(-2), 1) else "not 1"
    scores = layer(states, states, attention_mask=padded, return_attention_scores=True)[1].numpy()
    padding = (scores[:, :, 1, :2, 2:] if scores.ndim == 5 else scores[:, :, :6, 6:]).sum(-1).mean()
    if scores.ndim == 5:
        return f"{every} {over_words} {padding:.2f}"
    both = (layer(one, one, attention_mask=causal)[:, :7] for one in (states, later))
    return f"{every} {over_words} {padding:.2f} {'equal' if np.allclose(*both, atol=1e-4) else 'other'}"


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    "sums over keys, over queries, share of padding, words before another last one:",
    ", ".join(f"{name} {describe(layer)}" for name, layer in kinds.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, sums over keys, over queries, share of padding, words before\
 another last one: 8 key heads all 1 not 1 0.00 equal, 1 all 1 not 1 0.00 equal, 2 not 1 all 1 0.25\
 other, 4 not 1 all 1 0.25 other, blocks of 4 not 1 all 1 0.50"
