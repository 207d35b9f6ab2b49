#!/usr/bin/env bash
# flash-attention-jax reads a part of a document twice if its length, as 1,500, is over 1,024 and no multiple of it.
#
# Guess before the run: `flash_attention` is the exact attention, computed in blocks, so that it has the outputs of the
# package's own `plain_attention` for any number of keys; `cosine_sim_attention` compares directions of vectors.
# Seen: flash-attention-jax 0.3.1 with jax 0.10.2. For 1,024 and 2,048 keys the two agree. For 1,500 they are two fifths
# of the largest output apart: the second block of 1,024 keys doesn't fit, begins earlier, and keys 476 to 1,023 count
# twice. The cosine attention divides all vectors by one norm, that of the whole batch: what is left is nearly the mean
# of the values, and it depends on the texts beside it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    flash-attention-jax==0.3.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import flash_attention_jax
import jax
import jax.numpy as jnp
import numpy as np

keys = jax.random.split(jax.random.key(0), 3)


def heads(batch, queries, document):
    lengths = (queries, document, document)
    return [jax.random.normal(key, (batch, 2, length, 16)) for key, length in zip(keys, lengths)]


words = []
for document in (1024, 1500, 2048):
    query, key, value = heads(1, 64, document)
    mask = jnp.ones((1, document), bool)
    found = flash_attention_jax.flash_attention(query, key, value, mask)
    right = flash_attention_jax.plain_attention(query, key, value, mask)
    words.append(f"{document} keys {np.abs(found - right).max() / np.abs(right).max():.3f} off")
query, key, value = heads(2, 32, 32)
mask = jnp.ones((2, 32), bool)
unit = lambda vectors: vectors / jnp.linalg.norm(vectors, axis=-1, keepdims=True)  # noqa: E731
right = jax.nn.softmax(10 * unit(query) @ unit(key).swapaxes(-1, -2)) @ value
found = flash_attention_jax.cosine_sim_attention(query, key, value, mask)
alone = flash_attention_jax.cosine_sim_attention(query[:1], key[:1], value[:1], mask[:1])
mean = value.mean(-2, keepdims=True)
words.append(f"cosine {np.abs(found - right).max():.2f} off, {np.abs(found - mean).max():.2f} from the mean")
words.append(f"alone {np.abs(alone - found[:1]).max():.3f} from beside another text")
print(f"flash_attention_jax {importlib.metadata.version('flash-attention-jax')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "flash_attention_jax 0.3.1: 1024 keys 0.000 off, 1500 keys 0.425 off, 2048 keys 0.000 off, cosine 2.49\
 off, 0.02 from the mean, alone 0.017 from beside another text"
