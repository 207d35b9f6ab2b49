#!/usr/bin/env bash
# Padding makes a text's vectors shorter in performer-pytorch: its mask sets values to 0, and leaves their weights.
#
# Guess before the run: With a `mask` a Performer's attention over a padded text is that over the text alone.
# Seen: performer-pytorch 1.1.4. The mask makes the values of padding 0, and not its keys: the sum of all keys, by which
# the output is divided, counts it. A text of 32 words has outputs of a norm of .51 with as much padding as text, of .26
# with 96 places of it and .07 with 480. The local heads of the same layer mask rightly. A Performer encoder says other
# things of a text in a batch with a longer one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    performer-pytorch==1.1.4 torch==2.13.0 numpy==2.4.6 einops==0.8.2 local-attention==1.11.2 \
    axial-positional-embedding==0.3.12
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from performer_pytorch import SelfAttention

torch.manual_seed(0)
text = torch.randn(1, 32, 64)
words = []
for name, options in (("Performer", {}), ("local heads", {"local_heads": 4, "local_window_size": 32})):
    layer = SelfAttention(dim=64, heads=4, attn_out_bias=False, **options).eval()
    with torch.no_grad():
        alone = layer(text)
        norms = []
        for padding in (32, 96, 480):
            padded = torch.cat([text, torch.zeros(1, padding, 64)], 1)
            mask = torch.arange(32 + padding)[None] < 32
            norms.append(f"{(layer(padded, mask=mask)[:, :32].norm() / alone.norm()).item():.2f}")
    words.append(f"{name} {' '.join(norms)}")
version = importlib.metadata.version("performer-pytorch")
print(f"performer-pytorch {version}, norms with 32, 96 and 480 places of padding: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "performer-pytorch 1.1.4, norms with 32, 96 and 480 places of padding: Performer 0.51 0.26 0.07; local\
 heads 1.00 1.00 1.00"
