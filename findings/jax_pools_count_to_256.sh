#!/usr/bin/env bash
# An average pool of 1,000 ones in bfloat16 is .26 in Haiku and Flax with steps of 1,000, and 1 with steps of 1.
#
# Guess before the run: the average of one window over a text is the same whatever the step to the next one would be,
# and that of 1,000 ones is 1 in bfloat16 too, as jnp.mean has it.
# Seen: dm-haiku 0.0.17, flax 0.12.8, jax 0.10.2, on CPU. Both call jax.lax.reduce_window. With a step of 1 its sum is
# exact; with a step, as pools have by default or as it is written down for a whole text, the sum is kept in bfloat16,
# where 256 + 1 is 256: .85 of 300 ones, .50 of 512, .26 of 1,000, and .26 too for a text whose first half is ones and
# whose second half is zeros. jit changes nothing. In float32 all is right, and sums of whole axes add in float32 by
# themselves.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dm-haiku==0.0.17 flax==0.12.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import flax.linen
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np

texts = {f"{length} ones": np.ones(length) for length in (256, 300, 512, 1000)}
texts["500 ones and 500 zeros"] = np.append(np.ones(500), np.zeros(500))
words = []
for dtype in ("bfloat16", "float32"):
    for name, text in texts.items():
        x, length = jnp.asarray(text[None, :, None], dtype), len(text)
        means = (
            flax.linen.avg_pool(x, (length,)),
            flax.linen.avg_pool(x, (length,), (length,)),
            hk.avg_pool(x, (1, length, 1), (1, 1, 1), "VALID"),
            hk.avg_pool(x, length, length, "VALID"),
            x.mean(1),
        )
        if dtype == "bfloat16" or length == 1000:
            words.append(f"{dtype} {name} {' '.join(f'{float(mean.ravel()[0]):.2f}' for mean in means)}")
version = importlib.metadata.version("dm-haiku")
print(
    f"jax {jax.__version__}, flax {flax.__version__}, dm-haiku {version}: Flax in steps of 1 and of the window, Haiku",
    f"the same, jnp.mean: {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "jax 0.10.2, flax 0.12.8, dm-haiku 0.0.17: Flax in steps of 1 and of the window, Haiku the same, jnp.me\
an: bfloat16 256 ones 1.00 1.00 1.00 1.00 1.00, bfloat16 300 ones 1.00 0.85 1.00 0.85 1.00, bfloat16 512 ones 1.00 0.5\
0 1.00 0.50 1.00, bfloat16 1000 ones 1.00 0.26 1.00 0.26 1.00, bfloat16 500 ones and 500 zeros 0.50 0.26 0.50 0.26 0.5\
0, float32 1000 ones 1.00 1.00 1.00 1.00 1.00, float32 500 ones and 500 zeros 0.50 0.50 0.50 0.50 0.50"
