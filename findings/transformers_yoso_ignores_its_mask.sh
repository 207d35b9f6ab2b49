#!/usr/bin/env bash
# YOSO of transformers reads padding as text: its mask is 1 for all words, whatever the attention mask says.
#
# Guess before the run: a text has the same states alone and beside a longer one, if padding is on the right and the
# attention mask leaves it out, in YosoModel as in BertModel.
# Seen: transformers 5.23.0. The attention adds 1 to a ten-thousandth of the mask and rounds down, which is right for a
# mask of 0 and -10,000, but it is given the mask of 1 and 0: all are 1. The first state of a text of 16 words moves by
# .22, .51 and .54 with 4, 16 and 32 places of padding; and other ids on these places change it, too. The convolution
# beside it, `conv_window`, does use the mask. BertModel's states are the same to .00001. Labels of a batch depend on
# its longest text.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import torch
from transformers import BertConfig, BertModel, YosoConfig, YosoModel

logging.disable(logging.CRITICAL)
sizes = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(10, 26)[None]


def states(model, padding, fill=0):
    places = torch.full((1, padding), fill)
    mask = torch.cat([torch.ones_like(ids), torch.zeros_like(places)], 1)
    with torch.no_grad():
        return model(input_ids=torch.cat([ids, places], 1), attention_mask=mask).last_hidden_state[:, : ids.shape[1]]


words = []
for name, config, kind in (("YOSO", YosoConfig, YosoModel), ("BERT", BertConfig, BertModel)):
    model = kind(config(**sizes, intermediate_size=64, max_position_embeddings=64)).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
    alone = states(model, 0)
    moved = [f"{(states(model, number) - alone)[:, 0].abs().max():.2f}" for number in (4, 16, 32)]
    other = (states(model, 16, 30) - states(model, 16)).abs().max()
    words.append(f"{name} {' '.join(moved)}, by other ids {other:.2f}")
version = importlib.metadata.version("transformers")
print(f"transformers {version}, the first state moves by 4, 16, 32 places of padding: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0, the first state moves by 4, 16, 32 places of padding: YOSO 0.22 0.51 0.54, by\
 other ids 0.96; BERT 0.00 0.00 0.00, by other ids 0.00"
