#!/usr/bin/env bash
# Inside `jax.jit` the loss scale of jmp falls below the `min_loss_scale` that it was given, down to 1.
#
# Guess before the run: `DynamicLossScale(2**15, min_loss_scale=1024)` is halved after an overflow, but never below
# 1,024, in a step that is compiled as in one that is not.
# Seen: jmp 0.0.4. After 20 overflows the scale is 1,024 without `jit` and 1 with it. The minimum is not among what the
# object hands to JAX when it is taken apart, so that it comes back with the default, 1. `jax.tree_util.tree_map` and
# `jax.device_put` lose it as well. At a scale of 1 small gradients of a float16 BERT are 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jmp==0.0.4 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax
import jax.numpy as jnp
import jmp


def step(scale):
    return scale.adjust(jnp.array(False))


words = []
for name, function in (("plain", step), ("jit", jax.jit(step))):
    scale = jmp.DynamicLossScale(jnp.float32(2**15), min_loss_scale=jnp.float32(1024))
    for _ in range(20):
        scale = function(scale)
    words.append(f"{name} {float(scale.loss_scale):g}")
given = jmp.DynamicLossScale(jnp.float32(2**15), min_loss_scale=jnp.float32(1024))
kept = [jax.tree_util.tree_map(lambda value: value, given), jax.device_put(given)]
words.append(f"minimum after tree_map and device_put {' '.join(f'{float(one.min_loss_scale):g}' for one in kept)}")
print(f"jmp {importlib.metadata.version('jmp')}, loss scale after 20 overflows: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jmp 0.0.4, loss scale after 20 overflows: plain 1024, jit 1, minimum after tree_map and device_put 1 1"
