#!/usr/bin/env bash
# The learning rate of optax's `cocob` does nothing: with 1 and with .000001 all steps are the same.
#
# Guess before the run: `cocob(learning_rate)`, whose rate is there "to e.g. inject some scheduler", makes steps that
# shrink with it, so that a rate of 0.001 leaves weights near their start.
# Seen: optax 0.2.8. The rate scales the gradients before the algorithm, which divides by their largest one: after 50
# steps the weight is at .99976 for 1, .1, .001 and 1e-6. So a warmup or a decay that is given to it does not bound any
# step either.
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
import optax


def end(rate):
    optimizer = optax.contrib.cocob(rate)
    weight = jnp.zeros(1)
    state = optimizer.init(weight)
    for _ in range(50):
        updates, state = optimizer.update(2 * (weight - 1), state, weight)
        weight = optax.apply_updates(weight, updates)
    return f"{float(weight[0]):.5f}"


words = [f"{rate:g}: {end(rate)}" for rate in (1.0, 0.1, 0.001, 1e-6)]
print(f"optax {optax.__version__}, weight after 50 steps of cocob with a rate of {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8, weight after 50 steps of cocob with a rate of 1: 0.99976, 0.1: 0.99976, 0.001: 0.99976,\
 1e-06: 0.99976"
