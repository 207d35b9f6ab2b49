#!/usr/bin/env bash
# "Orthogonal" values of x-transformers are orthogonal for a whole text, not for its words, and padding counts in them.
#
# Guess before the run: with `attn_orthog_projected_values=True` an attention takes from each word's output the part
# that is parallel to the word's own value, as the paper that it names: what is left is orthogonal to it.
# Seen: x-transformers 2.31.10. The cosine of what is left and the word's own value is up to .88 in size, and 0.00 for
# all words of the text as one long vector: before the projection all dimensions but the batch are made one. So a word's
# output depends on the length of the text, and on what a mask hides: with other ids in the padding the output of an
# encoder changes by .34, without the option by 0. With `attn_orthog_projected_values_per_head` it is the same.
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
from x_transformers import x_transformers

seen = []
project = x_transformers.orthog_project


def watch(output, values):
    left = project(output, values)
    seen.append((left, values))
    return left


x_transformers.orthog_project = watch
words = torch.arange(1, 31)[None].repeat(2, 1)
words[1, 12:] = 7
mask = (torch.arange(30) < 12)[None].repeat(2, 1)


def change(**options):
    torch.manual_seed(0)
    layers = Encoder(dim=32, depth=1, heads=2, attn_dim_head=16, verbose=False, **options)
    model = TransformerWrapper(num_tokens=100, max_seq_len=64, attn_layers=layers).eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    with torch.no_grad():
        outputs = model(words, mask=mask)[:, :12]
    return f"{(outputs[0] - outputs[1]).abs().max():.2f}"


parts = [
    f"{name} {change(**options)}"
    for name, options in {
        "without": {},
        "with": {"attn_orthog_projected_values": True},
        "per head": {"attn_orthog_projected_values_per_head": True},
    }.items()
]
left, values = seen[0]
of_words = torch.cosine_similarity(left[0], values[0], dim=-1).abs().max()
of_text = torch.cosine_similarity(left[0].flatten(), values[0].flatten(), dim=0).abs()
print(
    f"x-transformers {importlib.metadata.version('x-transformers')}: cosine of words up to {of_words:.2f}, of the text",
    f"{of_text:.2f}; other padding changes outputs by: {', '.join(parts)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "x-transformers 2.31.10: cosine of words up to 0.88, of the text 0.00; other padding changes outputs by\
: without 0.00, with 0.34, per head 0.34"
