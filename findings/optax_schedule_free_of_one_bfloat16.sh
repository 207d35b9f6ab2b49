#!/usr/bin/env bash
# One bfloat16 weight in a model makes optax's schedule-free average of all others forget: its sum of weights ends at 4.
#
# Guess before the run: with a constant learning rate the weights to be evaluated are the mean of all weights of the
# path, as the page's formula says (1 / t each), for every weight that is in float32.
# Seen: optax 0.2.8, SGD with a rate of 0.1 and gradients of 1, 2,000 steps. If all weights are in float32 the mean is
# -100.1, as it should be. If one other weight, which gets no gradient, is in bfloat16, as frozen words may be, the
# float32 weight is -160.4: the sum of the weights of the mean is kept in the lowest type of all parameters, where
# adding 0.01 stops at 4. What follows is a moving average of some 400 steps. The page doesn't speak of it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import jax
import jax.numpy as jnp
import optax

from optax import contrib

words = []
for other in ("float32", "bfloat16"):
    weights = {"kernel": jnp.float32(0.0), "other": jnp.zeros((), other)}
    gradients = {"kernel": jnp.float32(1.0), "other": jnp.zeros((), other)}
    optimizer = contrib.schedule_free_sgd(0.1)
    state = optimizer.init(weights)
    step = jax.jit(optimizer.update)
    path = []
    for _ in range(2000):
        updates, state = step(gradients, state, weights)
        weights = optax.apply_updates(weights, updates)
        path.append(float(state.z["kernel"]))
    found, mean = float(contrib.schedule_free_eval_params(state, weights)["kernel"]), sum(path) / len(path)
    words.append(f"{other} {found:.1f}, mean of the path {mean:.1f}, sum of weights {float(state.weight_sum):g}")
print(f"optax {optax.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: float32 -100.1, mean of the path -100.0, sum of weights 20.0004; bfloat16 -160.4, mean\
 of the path -100.0, sum of weights 4"
