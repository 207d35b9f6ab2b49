#!/usr/bin/env bash
# Haiku's averages with a decay of .999 are NaN in bfloat16: batch norm learns as in float32, and evaluates to NaN.
#
# Guess before the run: hk.BatchNorm and the averages of weights (hk.ExponentialMovingAverage) in bfloat16 are those of
# float32 within a percent or two; a decay of .999 is the usual one.
# Seen: dm-haiku 0.0.17, jax 0.10.2. The decay is converted to the type of the values: .999 is 1 in bfloat16, whose next
# smaller number is .996. The hidden mean stays 0, and taking its bias out divides 0 by 1 less 1 to the power of the
# steps. Training uses the statistics of the batch and shows nothing; all outputs in evaluation are NaN. With .99 the
# decay is .988, and without the removal of the bias, `zero_debias=False`, an average stays at 0 for ever. In float32
# all is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dm-haiku==0.0.17 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import haiku as hk
import jax.numpy as jnp
import numpy as np

values = np.random.default_rng(0).normal(3, 2, size=(64, 4))
words = []
for decay in (0.9, 0.99, 0.999):
    for dtype in ("float32", "bfloat16"):
        x = jnp.asarray(values, dtype)
        norm = hk.transform_with_state(lambda x, train: hk.BatchNorm(True, True, decay)(x, train))
        weights, state = norm.init(None, x, True)
        for _ in range(100):
            trained, state = norm.apply(weights, state, None, x, True)
        evaluated, _ = norm.apply(weights, state, None, x, False)
        spread = [float(np.std(np.asarray(y, "float32"))) for y in (trained, evaluated)]
        mean = hk.transform_with_state(lambda x: hk.ExponentialMovingAverage(decay, zero_debias=False)(x))
        weights, state = mean.init(None, x[0])
        for _ in range(100):
            average, state = mean.apply(weights, state, None, jnp.full(4, 3, dtype))
        words.append(f"{decay} {dtype} {spread[0]:.1f}, {spread[1]:.1f}, {float(average[0]):.1f}")
version = importlib.metadata.version("dm-haiku")
print(f"dm-haiku {version}, spread in training, in evaluation, mean of 3: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dm-haiku 0.0.17, spread in training, in evaluation, mean of 3: 0.9 float32 1.0, 1.0, 3.0; 0.9 bfloat16\
 1.0, 1.0, 2.9; 0.99 float32 1.0, 1.0, 1.9; 0.99 bfloat16 1.0, 1.0, 2.0; 0.999 float32 1.0, 1.0, 0.3; 0.999 bfloat16 1\
.0, nan, 0.0"
