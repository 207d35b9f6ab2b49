#!/usr/bin/env bash
# Rotary embeddings of Equinox take the base of whichever layer was called first: ModernBERT's 160,000 becomes 10,000.
#
# Guess before the run: a layer with `theta=160000`, as ModernBERT's global attention, has the same outputs whether or
# not a layer with 10,000, its local attention, was called before it.
# Seen: equinox 0.13.8. Called first its outputs are its own; called after the other layer they are exactly the other
# layer's, and up to 4.8 away from its own. The table of sines and cosines is kept for all layers by size and type, and
# not by base. A text that is longer by a token makes the table anew with the base of the layer that reads it, so that
# now the other layer has changed. What a model computes depends on the texts that were read before.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    equinox==0.13.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import equinox as eqx
import jax
import jax.numpy as jnp

heads = jax.random.normal(jax.random.key(0), (64, 32))
wide = eqx.nn.RotaryPositionalEmbedding(32, theta=160_000.0)
alone = wide(heads[:16])
longer = jnp.concatenate([alone, wide(heads)[16:]])
local = eqx.nn.RotaryPositionalEmbedding(32, theta=10_000.0)
words = [f"called first {jnp.abs(wide(heads[:16]) - alone).max():.3f}"]
eqx.clear_caches()
near = local(heads)
words.append(f"after another base {jnp.abs(wide(heads) - longer).max():.3f}")
words.append(f"from the other base's {jnp.abs(wide(heads) - near).max():.3f}")
more = jnp.concatenate([heads, heads[:1]])
words.append(f"with a token more {jnp.abs(wide(more)[:64] - longer).max():.3f}")
words.append(f"the other base then {jnp.abs(local(heads) - near).max():.3f}")
print(f"equinox {eqx.__version__}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "equinox 0.13.8: called first 0.000, after another base 4.819, from the other base's 0.000, with a\
 token more 0.000, the other base then 4.819"
