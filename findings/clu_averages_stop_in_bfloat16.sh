#!/usr/bin/env bash
# The mean of clu over bfloat16 losses stops growing after 256 batches: of 1,000 losses of 1 it is .26.
#
# Guess before the run: `Average.from_output("loss")` of batches that are merged, `total.merge(batch)`, is the mean of
# all losses, 1.00, in bfloat16 as in float32, as the count beside it is an integer.
# Seen: clu 0.0.12. The sum keeps the type of the losses: at 2,048 eight more are lost in bfloat16, and the count goes
# on. After 100, 300 and 1,000 batches of eight losses of 1 the mean is 1.00, .85 and .26: the loss of a model that
# learns nothing seems to fall. It is so where the first batch is the first total, and with `reduce()`. Merged into
# `empty()`, whose sum is float32, and for float32 losses it is 1.00.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    clu==0.0.12 flax==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import functools
import importlib.metadata

import jax
import jax.numpy as jnp
from clu import metrics

Mean = metrics.Average.from_output("loss")


def means(batches, kind):
    one = Mean.from_model_output(loss=jnp.ones(8, kind))
    stacked = jax.tree_util.tree_map(lambda value: jnp.stack([value] * batches), one)
    merged = functools.reduce(lambda total, batch: total.merge(batch), [one] * batches)
    begun = functools.reduce(lambda total, batch: total.merge(batch), [one] * batches, Mean.empty())
    return " ".join(f"{float(total.compute()):.2f}" for total in (merged, stacked.reduce(), begun))


words = [f"{batches} {means(batches, jnp.bfloat16)}" for batches in (100, 300, 1000)]
words.append(f"float32 {means(1000, jnp.float32)}")
version = importlib.metadata.version("clu")
print(f"clu {version}, means of merged, reduced and from empty() of batches: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "clu 0.0.12, means of merged, reduced and from empty() of batches: 100 1.00 1.00 1.00, 300 0.85 0.85\
 1.00, 1000 0.26 0.26 1.00, float32 1.00 1.00 1.00"
