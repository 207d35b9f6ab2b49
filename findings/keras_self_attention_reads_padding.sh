#!/usr/bin/env bash
# SeqSelfAttention of keras-self-attention masks padding for padding alone: words read it, and depend on their batch.
#
# Guess before the run: With a mask, from an embedding with `mask_zero`, no word attends to padding, and a text has the
# same vectors alone.
# Seen: keras-self-attention 0.51.0 on TensorFlow 2.15.1. A score is masked where both the query and the key are
# padding, not where the key is: the product takes the complements of both. Of a text of 3 words with 3 places of
# padding half of the attention goes to padding in the additive kind, and .43 in the multiplicative one; with 60 places
# .96 and .94. Padding alone reads words only. ScaledDotProductAttention of the same package is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-self-attention==0.51.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from keras_self_attention import ScaledDotProductAttention, SeqSelfAttention

tf.keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
words = rng.normal(size=(200, 3, 8)).astype("float32")
layers = {
    "additive": SeqSelfAttention(return_attention=True),
    "multiplicative": SeqSelfAttention(return_attention=True, attention_type="multiplicative"),
    "ScaledDotProduct": ScaledDotProductAttention(return_attention=True),
}
parts = []
for name, layer in layers.items():
    alone, _ = layer(tf.constant(words))
    shares = []
    for padding in (3, 60):
        padded = np.concatenate([words, rng.normal(size=(200, padding, 8))], 1).astype("float32")
        mask = tf.constant(np.arange(3 + padding)[None].repeat(200, 0) < 3)
        vectors, attention = layer(tf.constant(padded), mask=mask)
        change = np.abs(vectors[:, :3] - alone).mean()
        shares.append(f"{attention.numpy()[:, :3, 3:].sum(-1).mean():.2f} (vectors move by {change:.2f})")
    parts.append(f"{name} {', '.join(shares)}")
version = importlib.metadata.version("keras-self-attention")
print(f"keras-self-attention {version}, attention to 3 and 60 places of padding: {'; '.join(parts)}")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-self-attention 0.51.0, attention to 3 and 60 places of padding: additive 0.50 (vectors move by\
 0.39), 0.96 (vectors move by 0.56); multiplicative 0.43 (vectors move by 0.39), 0.94 (vectors move by 0.78);\
 ScaledDotProduct 0.00 (vectors move by 0.00), 0.00 (vectors move by 0.00)"
