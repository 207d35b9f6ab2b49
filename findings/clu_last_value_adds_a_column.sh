#!/usr/bin/env bash
# The LastValue of clu, by which training losses are logged, is 16 for 16 texts whose losses of 1 stand in a column.
#
# Guess before the run: `LastValue.from_model_output(losses)` is the mean of a batch, for [16] losses as for [16, 1], as
# that of `Average` is.
# Seen: clu 0.0.12, JAX 0.10.2. The mask that it makes has 16 places, which are spread over the column: the values are
# added up 16 times, and divided by 16. A column of 64 has 64, a batch of three texts with three words each three times
# its mean, 12 for 4. With weights instead of a mask, .25 for eight texts, it is 4: each value is counted whole, and the
# weights are cut off to a sum of 2. `Average` has the mean in all of these.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    clu==0.0.12 jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
from clu.metrics import Average, LastValue


def both(*values):
    return " ".join(f"{float(kind.from_model_output(*values).compute()):.2f}" for kind in (LastValue, Average))


cases = {
    "[16]": (jnp.ones(16),),
    "[16, 1]": (jnp.ones((16, 1)),),
    "[64, 1]": (jnp.ones((64, 1)),),
    "[3, 3]": (jnp.arange(9.0).reshape(3, 3),),
    "weights of .25": (jnp.ones(8), jnp.full(8, 0.25)),
}
parts = [f"{name} {both(*values)}" for name, values in cases.items()]
print(f"clu {importlib.metadata.version('clu')}, LastValue and Average: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "clu 0.0.12, LastValue and Average: [16] 1.00 1.00, [16, 1] 16.00 1.00, [64, 1] 64.00 1.00, [3, 3]\
 12.00 4.00, weights of .25 4.00 1.00"
