#!/usr/bin/env bash
# With `circulant_matrix=True` a gMLP encoder of g-mlp-pytorch reads backward alone: its matrix is triangular.
#
# Guess before the run: The option makes the matrix of the gating unit circulant, with one weight for each distance, so
# that each word is still reached by all others unless `causal=True`.
# Seen: g-mlp-pytorch 0.1.5. Of the Toeplitz matrix that is built half of the distances are zeros, and the part that is
# cut out has them above the diagonal: the entry of words i and j is a weight if j <= i, and 0 otherwise. So in an
# encoder that is not causal a change of the last word changes 0 of the 31 words before it, and one of the first word
# all after it; without the option every word reaches all others. A masked word is predicted from the words before it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    g-mlp-pytorch==0.1.5 torch==2.13.0 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from g_mlp_pytorch import gMLP

torch.manual_seed(0)
words = torch.randint(0, 100, (1, 32))
parts = []
for name, options in (("circulant", {"circulant_matrix": True}), ("full matrix", {})):
    model = gMLP(num_tokens=100, dim=32, depth=2, seq_len=32, causal=False, **options).eval()
    changes = []
    for place in (0, 31):
        other = words.clone()
        other[0, place] = (words[0, place] + 1) % 100
        with torch.no_grad():
            changed = (model(other) != model(words)).any(-1)[0]
        changes.append(int(changed.sum()) - 1)
    parts.append(f"{name}: the first word reaches {changes[0]}, the last one {changes[1]}")
print(f"g-mlp-pytorch {importlib.metadata.version('g-mlp-pytorch')}, of 31 others: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "g-mlp-pytorch 0.1.5, of 31 others: circulant: the first word reaches 31, the last one 0; full matrix:\
 the first word reaches 31, the last one 31"
