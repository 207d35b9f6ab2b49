#!/usr/bin/env bash
# Cosine flash attention of memory-efficient-attention-pytorch masks keys by the mask of the queries: padding is read.
#
# Guess before the run: `FlashAttention(q_bucket_size=16, k_bucket_size=16)` of the cosine module gives the same outputs
# as with one bucket for the whole text, with a mask, too.
# Seen: memory-efficient-attention-pytorch 0.1.6. The mask is cut by the buckets of queries, and each part is laid on
# all buckets of keys: of 64 places with 20 words the second 16 queries read the first four keys of each bucket, and
# those after the words read nothing. The outputs of the words are 1.0 times their norm away from what they are alone.
# Without a mask, with one bucket, and in the package's other flash attention they agree.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    memory-efficient-attention-pytorch==0.1.6 torch==2.13.0 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from memory_efficient_attention_pytorch.cosine_sim_flash_attention import FlashAttention as Cosine
from memory_efficient_attention_pytorch.flash_attention import FlashAttention as Dot

torch.manual_seed(0)
text = torch.randn(1, 64, 64)
mask = torch.arange(64)[None] < 20
words = []
for name, kind in (("cosine", Cosine), ("other", Dot)):
    layer = kind(dim=64, heads=4, dim_head=16).eval()
    with torch.no_grad():
        alone = layer(text[:, :20])
        errors = []
        for size in (64, 32, 16):
            output = layer(text, mask=mask, q_bucket_size=size, k_bucket_size=size)[:, :20]
            errors.append(f"{(output - alone).norm() / alone.norm():.2f}")
        plain = layer(text, q_bucket_size=16, k_bucket_size=16)
        errors.append(f"without a mask {(plain - layer(text)).norm() / plain.norm():.2f}")
    words.append(f"{name} {' '.join(errors)}")
version = importlib.metadata.version("memory-efficient-attention-pytorch")
print(f"memory-efficient-attention-pytorch {version}, distance with buckets of 64, 32 and 16: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "memory-efficient-attention-pytorch 0.1.6, distance with buckets of 64, 32 and 16: cosine 0.00 0.86\
 1.01 without a mask 0.00; other 0.00 0.00 0.00 without a mask 0.00"
