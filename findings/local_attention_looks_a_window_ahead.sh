#!/usr/bin/env bash
# In local-attention's bidirectional windows a word's own rotary position is that of the word one window ahead.
#
# Guess before the run: `LocalAttention(window_size=8, dim=32)`, with the rotary positions it has by default, gives a
# word that is like all others the highest score with itself, as it does with `causal=True`.
# Seen: local-attention 1.11.2. Queries get the last positions of their keys' window. In the causal case these are the
# query's own; with a window on both sides they are those of the next window, so that the distance of a word from itself
# is 8, and that of the word 8 places on is 0. Of 24 equal vectors the first 16 look 8 places ahead, whereas all 24 look
# at themselves if the window is causal. To a word of an encoder its two neighbours are 7 and 9 places away.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    local-attention==1.11.2 torch==2.13.0 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from local_attention import LocalAttention

torch.manual_seed(0)
vectors = (torch.randn(32) * 5).expand(1, 24, 32).contiguous()
places = torch.eye(24)[None]  # values that say where a word looks
words = []
for causal in (True, False):
    weights = LocalAttention(window_size=8, dim=32, causal=causal)(vectors, vectors, places)[0]
    ahead = (weights.argmax(-1) - torch.arange(24)).tolist()
    name = "causal" if causal else "both sides"
    words.append(f"{name} {' '.join(map(str, ahead))}, weight of itself {weights.diagonal()[:16].mean():.2f}")
print(f"local-attention {importlib.metadata.version('local-attention')}: looks ahead by {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "local-attention 1.11.2: looks ahead by causal 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0, weight\
 of itself 1.00; both sides 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 8 7 -4 -4 -4 -4 -4 -4 -4, weight of itself 0.00"
