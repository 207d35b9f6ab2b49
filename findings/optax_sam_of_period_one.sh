#!/usr/bin/env bash
# With `sync_period=1`, SAM switched off, optax's `sam` takes back every second step: 20 of them lead as far as 3.
#
# Guess before the run: `sam(sgd, adversary, sync_period=1)`, which the check allows ("must be >= 1"), has no
# adversarial steps and is plain SGD: a baseline for SAM with the same code.
# Seen: optax 0.2.8. What it goes back to is not the weights of this step but those of the step before, so that every
# second step is taken back: the weight goes .200, .160, .368, .286, .511, .384 to the minimum at 1, and after 20 steps
# it is at .487, where SGD is after three. SGD is at .988. With `opaque_mode=True` it is SGD.
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


def gradient(weight, _=None):
    return 2 * (weight - 1)


def path(optimizer, **options):
    weight = jnp.zeros(1)
    state = optimizer.init(weight)
    places = []
    for _ in range(20):
        updates, state = optimizer.update(gradient(weight), state, weight, **options)
        weight = optax.apply_updates(weight, updates)
        places.append(f"{float(weight[0]):.3f}")
    return f"{' '.join(places[:6])} ... {places[-1]}"


sgd, adversary = optax.sgd(0.1), optax.chain(optax.contrib.normalize(), optax.sgd(0.05))
sam = optax.contrib.sam
opaque = path(sam(sgd, adversary, sync_period=1, opaque_mode=True), grad_fn=gradient)
print(
    f"optax {optax.__version__}: SGD {path(sgd)}; SAM of period 1 {path(sam(sgd, adversary, sync_period=1))};",
    f"opaque {opaque}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: SGD 0.200 0.360 0.488 0.590 0.672 0.738 ... 0.988; SAM of period 1 0.200 0.160 0.368\
 0.286 0.511 0.384 ... 0.487; opaque 0.200 0.360 0.488 0.590 0.672 0.738 ... 0.988"
