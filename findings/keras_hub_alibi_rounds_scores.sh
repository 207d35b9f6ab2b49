#!/usr/bin/env bash
# In bfloat16 KerasHub's AlibiBias rounds scores of attention to multiples of 4: early words attend to other places.
#
# Guess before the run: `AlibiBias` adds a bias that falls with the distance; under "mixed_bfloat16" the attention of a
# decoder differs from that in float32 by the rounding of the scores, less than .01.
# Seen: KerasHub 0.32.0 on JAX. The bias is counted from the last key, not from the query: the words just before the
# 100th of 2,048 have one of about -970 in the first head, where bfloat16 knows multiples of 4 only. What scores say of
# the words is rounded away with it. Of the attention of the 1,000th word .47 goes to other places in the first head and
# .13 in the mean of eight, of the 100th .32 and .12, of the 2,000th .02 and .00; of 512 words the 100th has .09 and
# .03. In float16 it is .02 or less. With the bias counted from the query bfloat16 is right to .01, and a softmax has
# the same result for both. The scores of one text so depend on how long the texts of a batch or a cache are padded.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6 ml-dtypes==0.5.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-hub==0.32.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The layer alone, without the tokenizers and models that the whole package imports.
root = importlib.util.find_spec("keras_hub").submodule_search_locations[0]
for name in ("keras_hub", "keras_hub.src", "keras_hub.src.layers", "keras_hub.src.layers.modeling"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("keras_hub").replace(".", "/")]
api = types.ModuleType("keras_hub.src.api_export")
api.keras_hub_export = lambda path: lambda layer: layer
sys.modules[api.__name__] = api

import numpy as np
from keras import ops
from keras_hub.src.layers.modeling.alibi_bias import AlibiBias

random = np.random.default_rng(0)


def attention(scores, row):
    """A causal softmax in 64 bits of one query's scores."""
    scores = np.array(ops.cast(scores, "float32"), float)[0, :, 0, : row + 1]
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def moved(scores, row, dtype, from_query=False):
    """How much of the attention of each head goes to other places than in float32."""
    right = attention(AlibiBias(dtype="float32")(scores), row)
    if from_query:
        scores = scores[..., : row + 1]
    other = attention(AlibiBias(dtype=dtype)(ops.cast(scores, dtype)), row)
    return np.abs(other - right).sum(-1) / 2


parts = []
for keys, row in ((512, 100), (2048, 100), (2048, 1000), (2048, 2000)):
    scores = random.normal(size=(1, 8, 1, keys)).astype("float32")
    values = moved(scores, row, "bfloat16")
    others = moved(scores, row, "float16").mean(), moved(scores, row, "bfloat16", True).mean()
    parts.append(f"word {row} of {keys} {values[0]:.2f} {values.mean():.2f} {others[0]:.2f} {others[1]:.2f}")
version = importlib.metadata.version("keras-hub")
print(f"keras-hub {version}, moved in head 1, in the mean, in float16, from the query: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-hub 0.32.0, moved in head 1, in the mean, in float16, from the query: word 100 of 512 0.09 0.03\
 0.00 0.00; word 100 of 2048 0.32 0.12 0.02 0.00; word 1000 of 2048 0.47 0.13 0.01 0.00; word 2000 of 2048 0.02 0.00\
 0.00 0.00"
