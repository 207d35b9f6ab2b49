#!/usr/bin/env bash
# pnnx, the converter of ncnn, makes a BERT of transformers 5 read padding as text: the mask of all keys is that of the first.
#
# Guess before the run: a traced BERT that pnnx has converted gives the outputs of transformers, for other masks than that
# of the trace too, or pnnx refuses to convert it.
# Seen: pnnx 20261020, transformers 5.23.0, torch 2.13.0, "eager" and "sdpa". transformers looks the mask up by two index
# tensors, [1, 1, 1, 1] for rows and [1, 1, 1, 8] for keys; pnnx writes of each its first number, `mask[[0],[0]]`, and says
# nothing. The outputs are exactly those without a mask, so that a check on a text without padding sees no difference.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pnnx==20261020 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import sys

import pnnx
import torch
from transformers import BertConfig, BertModel

os.chdir(sys.argv[1])
ids = torch.arange(5, 13)[None]
whole = torch.ones(1, 8, dtype=torch.int64)
padded = torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0]])


class Encoder(torch.nn.Module):
    """Has the inputs and the output of a trace."""

    def __init__(self, attention):
        super().__init__()
        torch.manual_seed(0)
        sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        self.bert = BertModel(
            BertConfig(**sizes, intermediate_size=64, initializer_range=0.3, attn_implementation=attention)
        )

    def forward(self, ids, mask):
        return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state


@torch.no_grad()
def compare(attention):
    model = Encoder(attention).eval()
    converted = pnnx.export(model, "bert.pt", (ids, padded))
    words = []
    # Only the five words are compared, not the padding.
    for name, mask, other in (("whole", whole, whole), ("padded", padded, padded), ("padded as whole", padded, whole)):
        off = (converted(ids, mask) - model(ids, other))[:, :5].abs().max()
        words.append(f"{name} {'equal' if off < 1e-4 else 'other'}")
    return f"{attention}: {', '.join(words)}"


print(f"pnnx {importlib.metadata.version('pnnx')}, {compare('eager')}; {compare('sdpa')}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pnnx 20261020, eager: whole equal, padded other, padded as whole equal;\
 sdpa: whole equal, padded other, padded as whole equal"
