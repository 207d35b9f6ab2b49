#!/usr/bin/env bash
# A softmax in bfloat16 on MLX's CPU adds up to 20 over 5,000 words, and to 1.4 over the 512 tokens of a BERT.
#
# Guess before the run: probabilities add up to 1 but for the rounding of their type, as in PyTorch, where sums of half
# precision are kept in float32.
# Seen: MLX 0.32.4. The sum in the denominator is kept in the type of the scores and stops where one more is lost: at
# 256 in bfloat16, at 2,048 in float16. Equal scores of 5,000 words add up to 19.5 and 2.4, and attention over 512
# tokens with scores near 0 to 1.4 in bfloat16. `precise=True` gives 1, and so does `scaled_dot_product_attention`; the
# BERTs of mlx-embeddings and mlx-transformers use the plain softmax. Cumulative sums stop likewise: positions counted
# by a `cumsum` of a bfloat16 mask end at 256. A plain `sum` is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import mlx.core as mx
import numpy as np


def total(scores, **options):
    """Returns the sum of the probabilities of the first row, added up in float32."""
    return mx.softmax(scores, -1, **options).astype(mx.float32).reshape(-1, scores.shape[-1])[0].sum().item()


random = np.random.default_rng(0)
keys = mx.array(0.1 * random.normal(size=(1, 2, 512, 8)).astype("float32"))
queries = mx.array(random.normal(size=(1, 2, 4, 8)).astype("float32"))
rows = []
for kind in (mx.float32, mx.float16, mx.bfloat16):
    words = mx.zeros((1, 5000), kind)
    query, key = queries.astype(kind), keys.astype(kind)
    ones = mx.ones((1, 2, 512, 8), kind)
    fused = mx.fast.scaled_dot_product_attention(query, key, ones, scale=8**-0.5)
    row = f"{kind}: 5,000 words {total(words):.1f}, precise {total(words, precise=True):.1f}, "
    scores = (query @ key.transpose(0, 1, 3, 2)) * 8**-0.5
    row += f"512 tokens {total(scores):.1f}, fused {fused[0, 0, 0, 0].item():.1f}, "
    mask = mx.ones((5000,), kind)
    rows.append(f"{row}cumsum {mask.cumsum()[-1].item():.0f}, sum {mask.astype(kind).sum().item():.0f}")
print(f"MLX {importlib.metadata.version('mlx')}:", "; ".join(rows).replace("mlx.core.", ""))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "MLX 0.32.4: float32: 5,000 words 1.0, precise 1.0, 512 tokens 1.0, fused 1.0, cumsum 5000, sum 5000;\
 float16: 5,000 words 2.4, precise 1.0, 512 tokens 1.0, fused 1.0, cumsum 2048, sum 5000;\
 bfloat16: 5,000 words 19.5, precise 1.0, 512 tokens 1.4, fused 1.0, cumsum 256, sum 4992"
