#!/usr/bin/env bash
# protein-bert-pytorch removes all annotations where it is to keep all, and keeps them where it is to remove them.
#
# Guess before the run: With `remove_annotation_prob=0.25` and `remove_all_annotations_prob=0.5` PretrainingWrapper
# leaves three quarters of a protein's annotations in one half of the batch, and none in the other; with 0 and 0 it
# leaves all of them.
# Seen: protein-bert-pytorch 0.1.0. The mask of what is to be removed is multiplied with the annotations, so that it is
# what is left: with 0 and 0 nothing, with .25 and 0 nothing, with 1 and 1 everything. With its defaults a rounded-up
# quarter is left of every protein, for the mask for "all" is drawn over batches of one, where it always hits. Random
# annotations, which are added before, are removed in the same step. The model is pre-trained on proteins with hardly
# any annotation.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    protein-bert-pytorch==0.1.0 torch==2.13.0 numpy==2.4.6 einops==0.8.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from protein_bert_pytorch import PretrainingWrapper, ProteinBERT

torch.manual_seed(0)
model = ProteinBERT(num_tokens=26, num_annotation=100, dim=16, dim_global=16, depth=1, attn_heads=2, attn_dim_head=8)
read = []
model.to_global_emb.register_forward_pre_hook(lambda module, inputs: read.append(inputs[0]))
proteins = torch.randint(3, 26, (200, 64))
annotations = torch.zeros(200, 100)
annotations[:, :40] = 1.0
words = []
for some, everything in ((0.0, 0.0), (0.25, 0.5), (0.25, 0.0), (1.0, 1.0)):
    wrapper = PretrainingWrapper(
        model, remove_annotation_prob=some, remove_all_annotations_prob=everything, add_annotation_prob=0.0
    )
    with torch.no_grad():
        wrapper(proteins, annotations)
    left = read[-1][:, :40]
    words.append(f"{some:g} and {everything:g} leave {left.mean():.2f}")
version = importlib.metadata.version("protein-bert-pytorch")
print(f"protein-bert-pytorch {version}: {', '.join(words)} of the annotations")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "protein-bert-pytorch 0.1.0: 0 and 0 leave 0.00, 0.25 and 0.5 leave 0.25, 0.25 and 0 leave 0.00, 1 and\
 1 leave 1.00 of the annotations"
