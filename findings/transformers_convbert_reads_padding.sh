#!/usr/bin/env bash
# ConvBERT of transformers reads padding: the last words of a text, and their labels, depend on its batch.
#
# Guess before the run: a text has the same states alone and beside a longer one, if padding is on the right and the
# attention mask leaves it out, in ConvBertModel as in BertModel.
# Seen: transformers 5.23.0. Half of ConvBERT's heads are convolutions over nine words, and these have no mask: the
# last words of a text take in the vectors of [PAD], or nothing where the text ends its batch. Of a text of 16 words
# the states of the last word move by .85 with 4 places of padding, and by .88 with 16; that of the first word by .10.
# Other ids under the mask change them by .79. BertModel's are the same to .00001. Tags at the end of a sentence, and a
# mean over its words, are others in each batch.
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
from transformers import BertConfig, BertModel, ConvBertConfig, ConvBertModel

logging.disable(logging.CRITICAL)
sizes = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(10, 26)[None]


def states(model, padding, fill=0):
    places = torch.full((1, padding), fill)
    mask = torch.cat([torch.ones_like(ids), torch.zeros_like(places)], 1)
    with torch.no_grad():
        return model(input_ids=torch.cat([ids, places], 1), attention_mask=mask).last_hidden_state[:, : ids.shape[1]]


words = []
for name, config, kind in (("ConvBERT", ConvBertConfig, ConvBertModel), ("BERT", BertConfig, BertModel)):
    options = {"embedding_size": 32} if name == "ConvBERT" else {}
    model = kind(config(**sizes, **options, intermediate_size=64, max_position_embeddings=64)).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.3)
    alone = states(model, 0)
    parts = []
    for number in (4, 16):
        moved = (states(model, number) - alone).abs().amax((0, 2))
        parts.append(f"{number} places {moved[0]:.2f} {moved[-1]:.2f}")
    other = (states(model, 16, 30) - states(model, 16)).abs().max()
    words.append(f"{name} {', '.join(parts)}, by other ids {other:.2f}")
version = importlib.metadata.version("transformers")
print(f"transformers {version}, the first and the last state move by padding: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "transformers 5.23.0, the first and the last state move by padding: ConvBERT 4 places 0.10 0.85, 16\
 places 0.10 0.88, by other ids 0.79; BERT 4 places 0.00 0.00, 16 places 0.00 0.00, by other ids 0.00"
