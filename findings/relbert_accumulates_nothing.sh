#!/usr/bin/env bash
# RelBERT's gradient accumulation throws the other batches away, and its triplet loss takes the margin off, not on.
#
# Guess before the run: with `gradient_accumulation=8` the gradients of eight relation types are added before a step,
# so that the words of all are learnt as without it; the triplet loss is max(0, positive distance - negative distance +
# margin), as in RelBERT's paper and torch.
# Seen: relbert 2.0.2 with torch 2.13.0 and transformers 4.46.3, eight relation types of own words and a small BERT,
# one epoch with the NCE loss. The gradients are set to zero at each type, and those that are not the n-th are skipped
# before `backward`: with 2, 4 and 8 the words of four, two and one types move. The margin's sign is turned in the
# triplet loss: a pair that is farther from its anchor than the negative one costs nothing up to the margin.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.46.3 tokenizers==0.20.3 numpy==2.4.6 datasets==3.6.0 scikit-learn==1.9.1 \
    pandas==3.1.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    relbert==2.0.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import json
import pathlib
import sys

import torch
from relbert import Trainer
from relbert.util import loss_triplet
from transformers import BertConfig, BertModel, BertTokenizerFast

torch.manual_seed(0)
folder = pathlib.Path(sys.argv[1])
model, data = folder / "model", folder / "data"
data.mkdir()
words = [f"w{number}" for number in range(128)]
rows = []
for relation in range(8):
    own = words[relation * 16 : relation * 16 + 16]
    pairs = [own[place : place + 2] for place in range(0, 16, 2)]
    rows.append({"relation_type": f"r{relation}", "positives": pairs[:4], "negatives": pairs[4:]})
(data / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=135, **sizes)).save_pretrained(model)
(model / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "is", "of", *words]) + "\n")
BertTokenizerFast(str(model / "vocab.txt"), model_max_length=64).save_pretrained(model)
found = []
for steps in (1, 2, 4, 8):
    trainer = Trainer(
        output_dir=str(folder / f"out{steps}"),
        template="<subj> is <mask> of <obj>",
        model=str(model),
        max_length=16,
        batch=8,
        data=str(data),
        loss_function="nce",
        classification_loss=False,
        loss_function_config=dict(temperature=0.1, gradient_accumulation=steps, num_positive=4, num_negative=1),
    )
    table = trainer.model.model.embeddings.word_embeddings.weight
    before = table.detach().clone()
    trainer.train()
    moved = (table.detach() != before).any(dim=1)[7:].reshape(8, 16)[:, :8].all(dim=1)
    found.append(f"{steps}: {moved.sum().item()}")
losses = []
for near, far in ((0.5, 3.0), (1.0, 1.5), (1.0, 1.0), (1.5, 1.0), (3.0, 0.5)):
    anchor, positive, negative = torch.zeros(3, 1, 8)
    positive[0, 0], negative[0, 0] = near, -far
    terms = ((anchor, positive), (positive, anchor))
    right = sum(torch.nn.functional.triplet_margin_loss(*pair, negative, reduction="sum").item() for pair in terms)
    losses.append(f"{near} {far} {loss_triplet(anchor, positive, negative).item():.2f} ({right:.2f})")
print(
    f"RelBERT {importlib.metadata.version('relbert')}: relations of 8 whose words are learnt by gradient accumulation",
    ", ".join(found) + "; triplet losses for distances of positive and negative",
    ", ".join(losses),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "RelBERT 2.0.2: relations of 8 whose words are learnt by gradient accumulation 1: 8, 2: 4, 4: 2, 8: 1;\
 triplet losses for distances of positive and negative 0.5 3.0 0.00 (0.00), 1.0 1.5 0.00 (0.50), 1.0\
 1.0 0.00 (1.00), 1.5 1.0 0.00 (1.50), 3.0 0.5 1.50 (4.00)"
