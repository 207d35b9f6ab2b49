#!/usr/bin/env bash
# With `epsilon=.01`, "minimum norm", optax's cosine similarity of a vector of length .05 with itself is .25, not 1.
#
# Guess before the run: vectors that are longer than `epsilon` have the similarity that they have without it; shorter
# ones are divided by it.
# Seen: optax 0.2.8, JAX 0.10.2. The squared length is what is held at `epsilon`: below a length of .1, the root, the
# similarity falls with the square of the length. The page's "minimum norm for terms in the denominator" would leave .05
# alone. The NT-Xent loss of optax has the machine's epsilon there: in bfloat16 the similarities of vectors shorter than
# .088 shrink, and the loss of the same four texts is 6.12 at length 1 and 1.20 at a hundredth of it, where float32 has
# 6.13 for both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import jax.numpy as jnp
import numpy as np
import optax

vector = jnp.array([0.6, 0.8])
similarities = [
    f"length {length} {float(optax.losses.cosine_similarity(length * vector, length * vector, epsilon=0.01)):.2f}"
    for length in (1.0, 0.2, 0.05, 0.02)
]
texts = jnp.array(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)
labels = jnp.array([0, 0, 1, 1])
losses = []
for dtype in (jnp.float32, jnp.bfloat16):
    pair = [float(optax.losses.ntxent((texts * size).astype(dtype), labels)) for size in (1, 0.01)]
    losses.append(f"{dtype.__name__} {pair[0]:.2f} {pair[1]:.2f}")
print(f"optax {optax.__version__}: similarity at {', '.join(similarities)}; NT-Xent {', '.join(losses)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: similarity at length 1.0 1.00, length 0.2 1.00, length 0.05 0.25, length 0.02 0.04;\
 NT-Xent float32 6.13 6.13, bfloat16 6.12 1.20"
