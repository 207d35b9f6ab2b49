#!/usr/bin/env bash
# Haiku's SpectralNorm makes small weights large: a matrix with a norm of .01 gets 331, and .001 infinity.
#
# Guess before the run: a matrix that is divided by its largest singular value has a norm of 1, however small it was, as
# a layer at the end of a residual branch is small at first.
# Seen: dm-haiku 0.0.17, JAX 0.10.2. A matrix of 64 x 64 with norms of 1, .1, .01 and .001: 1.00, 1.01, 331 and
# infinite, after 150 steps of the power iteration in three calls. `eps`, 1e-4, is added to the squared length of a
# vector before the root is taken, where the vector is the matrix times a unit vector and so as small as the matrix:
# below a length of .01 it doesn't come out as a unit vector, each step shrinks it more, and the norm that is estimated
# goes to 0. More steps make it worse. With eps=1e-12 all are 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dm-haiku==0.0.17 jax==0.10.2 jaxlib==0.10.2 numpy==2.1.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np


def normalize(matrix, **kwargs):
    """Returns the norm of the matrix that SpectralNorm has normalized, in the third call."""
    function = hk.transform_with_state(lambda weights: hk.SpectralNorm(n_steps=50, **kwargs)(weights))
    parameters, state = function.init(jax.random.PRNGKey(0), matrix)
    for _ in range(3):
        normalized, state = function.apply(parameters, state, None, matrix)
    return f"{np.linalg.norm(normalized, 2):.2f}" if jnp.isfinite(normalized).all() else "infinite"


matrix = np.random.default_rng(0).normal(size=(64, 64))
matrix /= np.linalg.norm(matrix, 2)
parts = []
for scale in (1, 0.1, 0.01, 0.001):
    weights = jnp.asarray(matrix * scale, jnp.float32)
    parts.append(f"{scale} {normalize(weights)} ({normalize(weights, eps=1e-12)})")
version = importlib.metadata.version("dm-haiku")
print(f"dm-haiku {version}, norm before and after SpectralNorm (with eps=1e-12): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dm-haiku 0.0.17, norm before and after SpectralNorm (with eps=1e-12): 1 1.00 (1.00); 0.1 1.01 (1.00); \
0.01 331.22 (1.00); 0.001 infinite (1.00)"
