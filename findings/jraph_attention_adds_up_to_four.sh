#!/usr/bin/env bash
# Attention over 1,000 neighbours adds up to 4 in jraph in bfloat16, and the mean of 500 ones and 500 zeros is 1.
#
# Guess before the run: segment_softmax gives probabilities that add up to 1 for each node within a percent or two in
# bfloat16, and segment_mean the mean, for 1,000 neighbours as for 100.
# Seen: jraph 0.0.6.dev0, jax 0.10.2, on CPU. Sums over segments are kept in the type of the values, and in bfloat16
# they stand still where a term is less than half a step: at 256 for ones. The denominator of a softmax over 1,000 equal
# scores is 256, and the probabilities add up to 3.9; the mean of 500 ones and 500 zeros is 1.00 in either order, since
# sum and count both stop at 256. Up to 256 neighbours, and in float32, both are right. Hubs of a graph get four times
# the messages of the others.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jraph==0.0.6.dev0 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import jraph
import numpy as np

words = []
for dtype in ("float32", "bfloat16"):
    for size in (100, 300, 1000):
        segments = jnp.zeros(size, "int32")
        softmax = jraph.segment_softmax(jnp.zeros(size, dtype), segments, 1)
        ones = np.repeat([1.0, 0.0], size // 2)
        means = [jraph.segment_mean(jnp.asarray(one, dtype), segments, 1)[0] for one in (ones, ones[::-1])]
        total = float(np.asarray(softmax, "float32").sum())
        words.append(f"{dtype} of {size} {total:.2f}, {float(means[0]):.2f}, {float(means[1]):.2f}")
print(
    f"jraph {importlib.metadata.version('jraph')}, sum of a softmax, mean of ones and zeros, of zeros and ones:",
    "; ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jraph 0.0.6.dev0, sum of a softmax, mean of ones and zeros, of zeros and ones: float32 of 100 1.00, 0.\
50, 0.50; float32 of 300 1.00, 0.50, 0.50; float32 of 1000 1.00, 0.50, 0.50; bfloat16 of 100 1.00, 0.50, 0.50; bfloat1\
6 of 300 1.17, 0.59, 0.59; bfloat16 of 1000 3.91, 1.00, 1.00"
