#!/usr/bin/env bash
# A bfloat16 model is NaN after one step of optax's `inject_hyperparams(adamw)`: Adam's second rate of .999 is 1.
#
# Guess before the run: `inject_hyperparams(optax.adamw)(0.01)` takes the steps of `optax.adamw(0.01)`, and lets the
# learning rate be changed between them.
# Seen: optax 0.2.8. It does for weights in float32. In bfloat16, where adamw itself works (0.941 after five steps), all
# weights are NaN at once: every rate is rounded to the type of the weights, and .999 in bfloat16 is 1, so that the
# second moment and the correction for its start are both 0. The page has `hyperparam_dtype` for an override, and no
# word on its default.
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

words = []
for dtype in ("float32", "bfloat16"):
    for name, make in (("adamw", optax.adamw), ("injected", optax.inject_hyperparams(optax.adamw))):
        optimizer = make(0.01)
        weights = jnp.ones(3, dtype)
        state = optimizer.init(weights)
        for _ in range(5):
            updates, state = optimizer.update(jnp.ones(3, dtype), state, weights)
            weights = optax.apply_updates(weights, updates)
        words.append(f"{name} in {dtype} {float(weights[0]):.3f}")
words.append(f"b2 {float(state.hyperparams['b2'])}")
print(f"optax {optax.__version__}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "optax 0.2.8: adamw in float32 0.950, injected in float32 0.950, adamw in bfloat16 0.941, injected in\
 bfloat16 nan, b2 1.0"
