#!/usr/bin/env bash
# sinkhorn-transformer takes the keys for values of the blocks that it sorts: what a word reads of them is keys.
#
# Guess before the run: SinkhornAttention is a mean of values, of the block of a word and of one that is sorted to it:
# values of 0 give 0, and equal values give outputs whose units are equal.
# Seen: sinkhorn-transformer 0.11.4. The sorted values are made by one line from the sorted keys, whatever the values
# are. With values of 0 outputs go from -.1 to .1, and with values of 1 they differ among the units of a word, as keys
# do. With `n_sortcut` the line is another, and values of 0 give 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 einops==0.8.2 packaging==26.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    sinkhorn-transformer==0.11.4 product-key-memory==0.3.0 colt5-attention==0.11.2 axial-positional-embedding==0.3.12 \
    local-attention==1.11.2 hyper-connections==0.4.11
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from sinkhorn_transformer.sinkhorn_transformer import SinkhornAttention

torch.manual_seed(0)
queries, keys = torch.randn(2, 1, 2, 64, 16)
words = []
for name, options in (("sorted blocks", {}), ("n_sortcut", {"n_sortcut": 2})):
    torch.manual_seed(0)
    layer = SinkhornAttention(bucket_size=8, dim=32, dim_heads=16, heads=2, max_seq_len=64, **options).eval()
    for value in (1.0, 0.0):
        output = layer(queries, keys, torch.full_like(keys, value))
        spread = (output.max(-1).values - output.min(-1).values).max()
        words.append(f"{name}, {value:g}: {output.min():.1f} to {output.max():.1f}, units differ {spread:.1f}")
version = importlib.metadata.version("sinkhorn-transformer")
print(f"sinkhorn-transformer {version}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sinkhorn-transformer 0.11.4: sorted blocks, 1: 0.3 to 0.8, units differ 0.1; sorted blocks, 0: -0.1 to\
 0.1, units differ 0.1; n_sortcut, 1: 0.3 to 0.7, units differ 0.0; n_sortcut, 0: 0.0 to 0.0, units differ 0.0"
