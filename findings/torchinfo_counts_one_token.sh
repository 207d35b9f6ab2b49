#!/usr/bin/env bash
# torchinfo counts as many multiplications for a BERT that reads 512 tokens as for one token: the length is left out.
#
# Guess before the run: "total mult-adds" of a BERT grows with the length of its text, at least by the products with its
# kernels: of 512 tokens it is 512 times that of one, and a little more for the attention.
# Seen: torchinfo 1.8.0 with torch 2.13.0 and transformers 5.23.0, a BERT of 4 layers of 256 units. 3,612,928 for 1, 128
# and 512 tokens; PyTorch's own counter has 3.2 million, 436 million and 2.1 billion. Of a layer that is no convolution
# torchinfo multiplies the weights by the first dimension of the output only, so that a text costs what a token does.
#
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchinfo==1.8.0 torch==2.13.0 transformers==5.23.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torchinfo
import transformers
from torch.utils.flop_counter import FlopCounterMode

sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
model = transformers.BertModel(transformers.BertConfig(vocab_size=1000, attn_implementation="eager", **sizes)).eval()
parts = []
for length in (1, 128, 512):
    inputs = {"input_ids": torch.ones([1, length], dtype=torch.long)}
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(**inputs)
    counted = torchinfo.summary(model, input_data=inputs, verbose=0).total_mult_adds
    parts.append(f"{length}: {counted}, torch {counter.get_total_flops() // 2}")
print(f"torchinfo {importlib.metadata.version('torchinfo')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchinfo 1.8.0, 1: 3612928, torch 3213312; 128: 3612928, torch 436273152; 512: 3612928, torch\
 2147549184"
