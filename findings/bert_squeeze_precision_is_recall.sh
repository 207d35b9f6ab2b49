#!/usr/bin/env bash
# Precision and recall are swapped in bert-squeeze: a classifier that calls all texts positive has a recall of .10.
#
# Guess before the run: Scorer's `precision` is "tp / (tp + fp)" and its `recall` "tp / (tp + fn)" of each class, and
# weighted means are numbers, weighted by the texts of a class.
# Seen: bert-squeeze 0.1.1. The rows of its confusion matrix are the labels, and the precision is divided by the sums of
# rows. A classifier that calls 100 texts positive, of which 10 are, has a precision of 1.00 and a recall of .10 where
# scikit-learn has .10 and 1.00. The weights of the weighted means are the numbers of predictions, not of texts, and the
# means are not added up: a "weighted" F1 is a list. With LooseScorer, which joins classes, tokens with the label -100
# become tokens of the first group, and count: a perfect tagger of words, with 80 tokens to ignore, has an accuracy of
# .53 in place of 1.
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
import importlib.metadata

import numpy as np
import torch
from bert_squeeze.utils.scorers import LooseScorer, Scorer
from sklearn.metrics import precision_score, recall_score

labels = torch.tensor([1] * 10 + [0] * 90)
logits = torch.tensor([[0.0, 5.0]]).repeat(100, 1)
scorer = Scorer(2)
scorer.add(logits, labels)
classes = logits.argmax(1)
tags = torch.tensor([0] * 30 + [1, 2, 3] * 20 + [-100] * 80)
perfect = torch.nn.functional.one_hot(tags.clamp(min=0), 4).float()
perfect[90:] = torch.tensor([0.0, 1.0, 0.0, 0.0])
plain, loose = Scorer(4), LooseScorer([[0], [1, 2, 3]])
plain.add(perfect, tags)
loose.add(perfect, tags)
print(
    f"bert-squeeze {importlib.metadata.version('bert-squeeze')}: precision {scorer.precision[1]:.2f}",
    f"for {precision_score(labels, classes):.2f}, recall {scorer.recall[1]:.2f}",
    f"for {recall_score(labels, classes):.2f};",
    f"weighted F1 {np.round(scorer.weighted_f1, 2).tolist()};",
    f"perfect tags: accuracy {plain.acc:.2f}, joined {loose.acc:.2f} of {loose.confusion_matrix.sum():.0f} words",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert-squeeze 0.1.1: precision 1.00 for 0.10, recall 0.10 for 1.00; weighted F1 [0.0, 0.18]; perfect\
 tags: accuracy 1.00, joined 0.53 of 170 words"
