#!/usr/bin/env bash
# UniCOIL of lightning-ir gives a word that repeats the weight of its last place, not the greatest: other documents win.
#
# Guess before the run: a document's vector holds for each word the maximum of its weights, as COIL and uniCOIL define
# it and Pyserini's uniCOIL encoder computes it.
# Seen: lightning-ir 0.0.6 with torch 2.13.0 and transformers 5.23.0, 200 documents of 100 tokens and a random BERT.
# Weights are scattered over the words, so that one place overwrites the others, here always the last. 57 % of the
# words that repeat have less than their maximum, and 8 % of 200 queries of four words have another first document.
# A word that begins a text and is repeated near its end counts as it stands there.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 tokenizers==0.23.3 lightning==2.6.6 ir_measures==0.4.3 pandas==3.1.1 \
    numpy==2.4.6 ir_datasets==0.6.3
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    lightning-ir==0.0.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import tempfile

import torch
from lightning_ir.models.bi_encoders.coil import UniCoilConfig, UniCoilModel
from transformers import BatchEncoding, BertConfig, BertModel

torch.manual_seed(0)
folder = tempfile.mkdtemp()
sizes = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
BertModel(BertConfig(vocab_size=1000, initializer_range=0.3, **sizes)).save_pretrained(folder)
model = UniCoilModel.from_pretrained(folder, config=UniCoilConfig()).eval()
ranks = 1 / torch.arange(1, 996)
ids = torch.multinomial(ranks.expand(200, -1), 100, replacement=True) + 5
with torch.no_grad():
    encoding = BatchEncoding({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    found = model.encode(encoding, "doc").embeddings[:, 0]
    states = model._backbone_forward(**encoding).last_hidden_state
    weights = torch.relu(model.token_projection(states)[..., 0])
    best = torch.zeros_like(found).scatter_reduce(1, ids, weights, "amax")
    last = torch.zeros_like(found)
    for position in range(ids.shape[1]):
        last[torch.arange(200), ids[:, position]] = weights[:, position]
counts = torch.zeros_like(found).scatter_add(1, ids, torch.ones_like(weights))
twice = counts > 1
lost = (found[twice] < best[twice]).float().mean().item()
none = ((found[twice] == 0) & (best[twice] > 0)).float().mean().item()
queries = torch.randint(5, 200, (200, 4))
scores, rights = (vectors[:, queries].sum(dim=2).T for vectors in (found, best))
first = (scores.argmax(dim=1) == rights.argmax(dim=1)).float().mean().item()
print(
    f"lightning-ir {importlib.metadata.version('lightning-ir')}: weights are those of the last place:",
    f"{torch.equal(found, last)}; of words that repeat less than their maximum: {lost:.2f}, zero: {none:.2f};",
    f"same first document: {first:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lightning-ir 0.0.6: weights are those of the last place: True; of words that repeat less than their\
 maximum: 0.57, zero: 0.00; same first document: 0.92"
