#!/usr/bin/env bash
# Haiku's average of bfloat16 weights is NaN at a decay of .999, or stays at 0: the decay becomes 1 in that type.
#
# Guess before the run: the moving average of a weight that is 2 in all steps is 2 with `zero_debias`, and without it
# 1.26 after 1,000 steps at a decay of .999.
# Seen: dm-haiku 0.0.17, JAX 0.10.2. In float32 it is so. In bfloat16 the average is NaN with the correction, which is
# the default, and 0 without it: the decay is cast to the type of the value, whose next number below 1 is .99609, so
# that .999 is 1, a step adds (1 - 1) times the value, and the correction divides 0 by 1 - 1. In float16 .999 does as
# guessed to 1 %, and .9999 is NaN. EMAParamsTree, which averages a whole model, is made of this. The state takes the
# type of the weights, too.
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
import jax.numpy as jnp

parts = []
for dtype in (jnp.float32, jnp.bfloat16):
    values = []
    for zero_debias in (True, False):

        def average(tree, zero_debias=zero_debias):
            return hk.EMAParamsTree(0.999, zero_debias=zero_debias)(tree)

        function = hk.transform_with_state(average)
        tree = {"encoder": {"weight": jnp.asarray(2.0, dtype)}}
        parameters, state = function.init(None, tree)
        for _ in range(1000):
            averaged, state = function.apply(parameters, state, None, tree)
        values.append(f"{float(averaged['encoder']['weight']):.2f}")
    parts.append(f"{jnp.dtype(dtype).name} {values[0]} and {values[1]}")
version = importlib.metadata.version("dm-haiku")
print(
    f"dm-haiku {version}, average of a weight of 2 after 1,000 steps, with and without zero_debias:",
    "; ".join(parts),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dm-haiku 0.0.17, average of a weight of 2 after 1,000 steps, with and without zero_debias: float32 2.0\
0 and 1.26; bfloat16 nan and 0.00"
