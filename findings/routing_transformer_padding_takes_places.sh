#!/usr/bin/env bash
# In routing-transformer padding takes places of words in the clusters: of a padded text one word in six gets nothing.
#
# Guess before the run: With a mask a text of 16 words has the same outputs alone and padded to 64 in KmeansAttention:
# padding is in no cluster, or in one of its own.
# Seen: routing-transformer 1.6.1. Each cluster takes the 16 vectors that are nearest to its mean, padding among them,
# and masks them afterwards. Alone every word is in all four clusters, and none is left out. Padded to 64 words 17 % of
# the words are in none and have an output of 0, others look at padding alone, with equal weights, and the outputs are
# 1.3 times their length away from those of the text alone. What the padding holds moves them by .6. A Routing
# Transformer says other things of a short text in a batch with a long one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    routing-transformer==1.6.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from routing_transformer.routing_transformer import KmeansAttention

torch.set_num_threads(1)
torch.manual_seed(0)
layer = KmeansAttention(num_clusters=4, window_size=16, num_heads=2, head_dim=16).eval()
queries, keys, values = torch.randn(3, 20, 2, 64, 16)
mask = (torch.arange(64) < 16).expand(20, -1)


def outputs(*parts, mask):
    with torch.no_grad():
        return layer(*parts, query_mask=mask)[0][:, :, :16]


outputs(queries, keys, values, mask=torch.ones(20, 64, dtype=torch.bool))  # finds the means of the clusters
alone = outputs(queries[:, :, :16], keys[:, :, :16], values[:, :, :16], mask=mask[:, :16])
padded = outputs(queries, keys, values, mask=mask)
others = [torch.cat([part[:, :, :16], torch.randn(20, 2, 48, 16)], 2) for part in (queries, keys, values)]
changed = outputs(*others, mask=mask)
left_out = [(output == 0).all(-1).float().mean() for output in (alone, padded)]
print(
    f"routing-transformer {importlib.metadata.version('routing-transformer')}: words without output: alone",
    f"{left_out[0]:.2f}, padded {left_out[1]:.2f}; distance {(padded - alone).norm() / alone.norm():.1f},",
    f"of other padding {(changed - padded).norm() / padded.norm():.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "routing-transformer 1.6.1: words without output: alone 0.00, padded 0.17; distance 1.3, of other\
 padding 0.6"
