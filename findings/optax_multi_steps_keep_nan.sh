#!/usr/bin/env bash
# One NaN among accumulated gradients stays in optax's MultiSteps for good: after five refused steps all is NaN.
#
# Guess before the run: `apply_if_finite(sgd, 5)` leaves out the step whose gradients are not finite, also where
# MultiSteps makes a step of two micro-batches: of 12 steps one is lost. MultiSteps' page says that accumulated
# gradients "are then set back to zero".
# Seen: optax 0.2.8. 24 gradients of 1, the third is NaN. Without accumulation 23 steps are taken. With
# `MultiSteps(apply_if_finite(...), 2)` one step is taken, the next five are refused, and the sixth, which
# `apply_if_finite` has to let pass, makes the weight NaN; with `zero_nans` inside nothing more is ever learned. The sum
# is set back by a product with 0, and 0 times NaN is NaN. An infinity, as from float16 with a loss scale, stays
# likewise. `should_skip_update_fn=skip_not_finite` is right: 23 micro-batches, 11 steps.
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

gradients = [jnp.float32(1.0)] * 24
gradients[2] = jnp.float32("nan")


def weight(optimizer):
    value = jnp.float32(0.0)
    state = optimizer.init(value)
    for gradient in gradients:
        updates, state = optimizer.update(gradient, state, value)
        value = optax.apply_updates(value, updates)
    return float(value)


sgd = optax.sgd(1.0)
print(
    f"optax {optax.__version__}: {weight(optax.apply_if_finite(sgd, 5)):g} of -23 without accumulation;",
    f"accumulated {weight(optax.MultiSteps(optax.apply_if_finite(sgd, 5), 2)):g},",
    f"with zero_nans {weight(optax.MultiSteps(optax.chain(optax.zero_nans(), sgd), 2)):g},",
    f"skip_not_finite {weight(optax.MultiSteps(sgd, 2, should_skip_update_fn=optax.skip_not_finite)):g}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: -23 of -23 without accumulation; accumulated nan, with zero_nans -1, skip_not_finite -11"
