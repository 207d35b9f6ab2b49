#!/usr/bin/env bash
# The attention weights of h-transformer-1d add up to two and more: values of 1 come out as 1.4 to 10.
#
# Guess before the run: HAttention1D is attention whose far words are taken together: a mean of values, so that values
# of 1 give 1 at any length.
# Seen: h-transformer-1d 0.1.9. Far values are added up, and their weights are counted once for the sum: two words of a
# block of two count twice in the numerator and once in the divisor. And each level of blocks takes off its own maximum
# before the levels are added, so that the best far word weighs as much as the best near one, whatever their scores.
# With 64, 256 and 1,024 words values of 1 become 1.4, 3.5 and 10.3, and in the causal class 1.3, 1.6 and 1.9.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    h-transformer-1d==0.1.9 torch==2.13.0 numpy==2.4.6 einops==0.8.2 rotary-embedding-torch==0.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from h_transformer_1d.h_transformer_1d import CausalHAttention1D, HAttention1D

torch.manual_seed(0)


class Ones(torch.nn.Module):
    """Queries and keys of a layer with values of 1."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, text):
        q, k, v = self.layer(text).chunk(3, -1)
        return torch.cat([q, k, torch.ones_like(v)], -1)


words = []
for name, layer in (
    ("HAttention1D", HAttention1D(64, heads=4, dim_head=16, block_size=8)),
    ("causal", CausalHAttention1D(64, max_seq_len=1024, heads=4, dim_head=16, block_size=8)),
):
    layer.to_qkv, layer.to_out = Ones(layer.to_qkv), torch.nn.Identity()
    with torch.no_grad():
        means = [f"{layer(torch.randn(1, length, 64)).mean():.1f}" for length in (64, 256, 1024)]
    words.append(f"{name} {' '.join(means)}")
version = importlib.metadata.version("h-transformer-1d")
print(f"h-transformer-1d {version}, values of 1 at 64, 256 and 1,024 words: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "h-transformer-1d 0.1.9, values of 1 at 64, 256 and 1,024 words: HAttention1D 1.4 3.5 10.3; causal 1.3\
 1.6 1.9"
