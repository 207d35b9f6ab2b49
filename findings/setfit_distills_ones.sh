#!/usr/bin/env bash
# SetFit's distillation teaches that all texts are alike: a pair has the similarity of the first text to itself.
#
# Guess before the run: the pairs of `ContrastiveDistillationDataset`, which DistillationTrainer trains a student's
# encoder with, have the similarities that the matrix has for them.
# Seen: setfit 1.2.0. Pairs are made before the texts get their numbers: each is looked up as text 0 and text 0. Of
# four texts, ten pairs, all labels are 1.00, whatever the matrix holds, for texts that are as different as -.5, too.
# An encoder that gives one vector for all texts has a loss of 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    setfit==1.2.0 sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from setfit.sampler import ContrastiveDistillationDataset

texts = ["a", "b", "c", "d"]
matrix = torch.tensor([[1.0, 0.2, -0.5, 0.1], [0.2, 1.0, 0.3, 0.4], [-0.5, 0.3, 1.0, 0.0], [0.1, 0.4, 0.0, 1.0]])
pairs = list(ContrastiveDistillationDataset(texts, matrix))
labels = sorted({f"{pair['label']:.2f}" for pair in pairs})
wanted = sorted({f"{matrix[texts.index(pair['sentence_1']), texts.index(pair['sentence_2'])]:.2f}" for pair in pairs})
version = importlib.metadata.version("setfit")
print(f"setfit {version}: {len(pairs)} pairs, labels {' '.join(labels)}; similarities {' '.join(wanted)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "setfit 1.2.0: 10 pairs, labels 1.00; similarities -0.50 0.00 0.10 0.20 0.30 0.40 1.00"
