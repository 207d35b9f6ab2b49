#!/usr/bin/env bash
# A DeeBERT of bert-squeeze has one layer that is used twelve times: a pre-trained BERT's other eleven are overwritten.
#
# Guess before the run: DeeBertModel has the layers of a BERT, and an exit after each, so that with the weights of a
# BERT its last states are that BERT's.
# Seen: bert-squeeze 0.1.1. The list of layers is made by a product, `[BertLayer(config)] * 12`, and so is that of the
# exits: all twelve are one object, with a twelfth of the weights. All keys of a BERT's encoder are found when its
# weights are loaded, and each layer overwrites the one before: what is left is the last layer, twelve times. The states
# are nearly unrelated to the BERT's (cosine -.38), and are exactly those of a BERT whose layers are all copies of its
# last one. Nor can an exit learn anything of its own.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.41.2 numpy==1.26.4 lightning==2.5.0 omegaconf==2.3.0 overrides==6.5.0 \
    tabulate==0.10.0 seaborn==0.12.2 matplotlib==3.7.5 scipy==1.17.1 scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert-squeeze==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import copy
import importlib.metadata

import torch
from bert_squeeze.models.custom_transformers.deebert import DeeBertModel
from transformers import BertConfig, BertModel

torch.manual_seed(0)
size = dict(vocab_size=50, hidden_size=64, num_hidden_layers=12, num_attention_heads=4, intermediate_size=128)
config = BertConfig(**size, initializer_range=0.1, num_labels=2)
bert = BertModel(config).eval()
squeezed = DeeBertModel(config).eval()
missing, unexpected = squeezed.load_state_dict(bert.state_dict(), strict=False)
missing = [key for key in missing if "ramp" not in key]
last = copy.deepcopy(bert)
for layer in last.encoder.layer:
    layer.load_state_dict(bert.encoder.layer[-1].state_dict())
squeezed.encoder.set_early_exit_entropy(-1)
ids = torch.randint(5, 50, (1, 16))
with torch.no_grad():
    states = squeezed(ids).sequence_output
    right, copies = bert(ids).last_hidden_state, last(ids).last_hidden_state
count = [sum(p.numel() for p in layers.parameters()) for layers in (squeezed.encoder.layer, bert.encoder.layer)]
print(
    f"bert-squeeze {importlib.metadata.version('bert-squeeze')}: {len(squeezed.encoder.layer)} layers,",
    f"{len(set(map(id, squeezed.encoder.layer)))} object, exits {len(set(map(id, squeezed.encoder.ramp)))};",
    f"weights {count[0]} of {count[1]}; keys missing {len(missing)}, unexpected {len(unexpected)};",
    f"cosine with BERT {torch.cosine_similarity(states, right, dim=-1).mean():.2f},",
    f"with its last layer twelve times {torch.cosine_similarity(states, copies, dim=-1).mean():.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert-squeeze 0.1.1: 12 layers, 1 object, exits 1; weights 33472 of 401664; keys missing 0, unexpected\
 0; cosine with BERT -0.38, with its last layer twelve times 1.00"
