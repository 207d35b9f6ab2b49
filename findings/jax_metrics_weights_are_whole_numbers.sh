#!/usr/bin/env bash
# A mean of JAX Metrics with weights below 1 is too high, or infinite: a batch's weights are cut to a whole number.
#
# Guess before the run: `Mean` with `sample_weight` is NumPy's `average` with these weights, in batches of any size.
# Seen: jax-metrics 0.2.5 (with jax 0.4.38), six values in batches of 6, 3 and 2. With weights of 2 it is right. With
# weights of 0.5 the mean of 3.5 is 5.25 in batches of three (1.5 counts as 1), with 0.3 it is 6.30 in one batch and
# infinite in smaller ones. The count of values is an unsigned integer, to which each batch's sum of weights is cast.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax-metrics==0.2.5 jax==0.4.38 jaxlib==0.4.38 numpy==2.4.6 optax==0.2.5 simple-pytree==0.2.2 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import jax_metrics
import numpy as np

values = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
words = []
for weights in ([2.0] * 6, [0.5] * 6, [0.3] * 6, [0.9, 0.1, 0.8, 0.2, 0.7, 0.3]):
    right = np.average(values, weights=weights)
    found = []
    for size in (6, 3, 2):
        mean = jax_metrics.metrics.Mean()
        for start in range(0, 6, size):
            part = slice(start, start + size)
            mean = mean.update(values=values[part], sample_weight=jnp.array(weights[part]))
        found.append(f"{float(mean.compute()):.2f}")
    words.append(f"{right:.2f}: {' '.join(found)}")
print(f"jax_metrics {importlib.metadata.version('jax-metrics')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax_metrics 0.2.5: 3.50: 3.50 3.50 3.50, 3.50: 3.50 5.25 3.50, 3.50: 6.30 inf inf, 3.20: 3.20 4.80\
 3.20"
