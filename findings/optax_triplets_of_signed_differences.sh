#!/usr/bin/env bash
# With `norm_degree=1` or 3 optax's triplet loss takes signed differences for distances: a far positive costs nothing.
#
# Guess before the run: `triplet_margin_loss(..., norm_degree=p)` compares distances of the norm of that degree, as
# SciPy's `minkowski` computes them; degree 1 is the sum of the absolute differences.
# Seen: optax 0.2.8. The positive (2, -2) is farther from (0, 0) than the negative (-1, -1), so that the loss is 3.00
# for degree 1 and 2.26 for degree 3; optax has 0.00 for both, so there is no gradient either. Degrees 2 and 4 are
# right. The differences are raised to the power without their absolute values; where the sum is negative an odd degree
# above 1 is NaN.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import jax.numpy as jnp
import optax
from scipy.spatial.distance import minkowski

anchor = jnp.array([0.0, 0.0])
far, near = jnp.array([2.0, -2.0]), jnp.array([-1.0, -1.0])
words = []
for degree in (1, 2, 3, 4):
    found = optax.losses.triplet_margin_loss(anchor, far, near, norm_degree=degree)
    right = max(minkowski(anchor, far, degree) - minkowski(anchor, near, degree) + 1.0, 0.0)
    words.append(f"degree {degree} {float(found):.2f} instead of {right:.2f}")
print(f"optax {optax.__version__}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: degree 1 0.00 instead of 3.00, degree 2 2.41 instead of 2.41, degree 3 0.00 instead of\
 2.26, degree 4 2.19 instead of 2.19"
