#!/usr/bin/env bash
# Token shift of x-transformers reads padding: the mask reaches it before attention, and not before feed-forward.
#
# Guess before the run: an encoder of x-transformers with `shift_tokens=1` gives a text the same vectors whatever stands
# in its padding, as without the option: it sets what a mask hides to zero before it shifts.
# Seen: x-transformers 2.31.10. With other ids in the padding the vector of the last word of a text of 12 words changes
# by 1.62 after one layer; with two layers that of the first word does, too, by .42. Without the option, and with rotary
# embeddings, ALiBi or memory tokens, it is 0. A part of the units comes from the next word, and the feed-forward layer
# is called without a mask. So a text's vectors depend on the longest text of its batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    x-transformers==2.31.10 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from x_transformers import Encoder, TransformerWrapper

words = torch.arange(1, 31)[None].repeat(2, 1)
words[1, 12:] = 7
mask = (torch.arange(30) < 12)[None].repeat(2, 1)


def changes(depth, wrapper=None, **options):
    """Changes of the vectors of the first word and of the last one."""
    torch.manual_seed(0)
    layers = Encoder(dim=33, depth=depth, heads=2, attn_dim_head=16, verbose=False, **options)
    model = TransformerWrapper(num_tokens=100, max_seq_len=64, attn_layers=layers, **(wrapper or {})).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    with torch.no_grad():
        outputs = model(words, mask=mask, return_embeddings=True)[:, :12]
    moved = (outputs[0] - outputs[1]).abs().amax(1)
    return f"{moved[0]:.2f} {moved[-1]:.2f}"


parts = [
    f"plain {changes(2)}",
    f"rotary {changes(2, rotary_pos_emb=True)}",
    f"ALiBi {changes(2, alibi_pos_bias=True)}",
    f"memory {changes(2, {'num_memory_tokens': 4})}",
    f"shift, one layer {changes(1, shift_tokens=1)}",
    f"shift, two layers {changes(2, shift_tokens=1)}",
]
version = importlib.metadata.version("x-transformers")
print(f"x-transformers {version}, changes of the first and the last word: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "x-transformers 2.31.10, changes of the first and the last word: plain 0.00 0.00, rotary 0.00 0.00, ALi\
Bi 0.00 0.00, memory 0.00 0.00, shift, one layer 0.00 1.62, shift, two layers 0.42 1.51"
