#!/usr/bin/env bash
# A quantized Linear of candle's Python package adds its bias twice to vectors, as in a BERT's pooler and classifier.
#
# Guess before the run: a kernel in 8 bits gives the output of the kernel in float32 but for its rounding.
# Seen: candle-nn 0.4.2. For [batch, units], which a pooler and a classifier read, the bias is added to the product and
# then once more; for [batch, words, units] it is added once. With a bias of 5 the output is 10 where it was to be 5,
# and the error of the rounding is .00 in both. In float32 both are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    candle-nn==0.4.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import candle
import numpy as np
from candle.nn import Linear

random = np.random.default_rng(0)


def tensor(values):
    """Returns an array as a tensor of candle."""
    return candle.Tensor(values.reshape(-1).tolist()).reshape(tuple(values.shape))


kernel = 0.02 * random.normal(size=(4, 32))
inputs = random.normal(size=(3, 2, 32))
layer = Linear(32, 4)
layer.bias = tensor(np.full(4, 5.0))
rows = []
for name in ("float32", "q8_0"):
    layer.weight = tensor(kernel) if name == "float32" else tensor(kernel).quantize(name)
    words = np.array(layer(tensor(inputs)).values())
    texts = np.array(layer(tensor(inputs[:, 0])).values())
    product = inputs @ kernel.T
    rows.append(f"{name}: words {(words - product).mean():.2f}, texts {(texts - product[:, 0]).mean():.2f}")
print(f"candle-nn {importlib.metadata.version('candle-nn')}, output less product:", "; ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "candle-nn 0.4.2, output less product: float32: words 5.00, texts 5.00; q8_0: words 5.00, texts 10.00"
