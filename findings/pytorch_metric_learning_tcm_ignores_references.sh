#!/usr/bin/env bash
# The threshold-consistent margin loss of pytorch-metric-learning ignores `ref_emb`: wrong answers of all cost nothing.
#
# Guess before the run: `ThresholdConsistentMarginLoss()(questions, labels, ref_emb=answers, ref_labels=labels)`
# compares questions with answers, as the other losses of the package do.
# Seen: pytorch-metric-learning 2.9.0. It reads all vectors of both sides from the questions. Eight questions, each
# with an answer: if every answer is the vector of its question, the loss is 0.00, and 0.00 also if every answer is
# that of another question, where `ContrastiveLoss` with the same margins has 1.40; the gradient of the answers is
# None. Two texts that BERT encodes apart, as a question and its answer, learn nothing from each other.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytorch-metric-learning==2.9.0 torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import ContrastiveLoss, ThresholdConsistentMarginLoss

margins = ContrastiveLoss(pos_margin=0.9, neg_margin=0.5, distance=CosineSimilarity())
losses = {"TCM": ThresholdConsistentMarginLoss(margin_plus=0.9, margin_minus=0.5), "contrastive": margins}
labels = torch.arange(8)
parts = []
for name, loss in losses.items():
    values = []
    for order in (labels, labels.flip(0)):
        questions = torch.eye(8).requires_grad_()
        answers = torch.eye(8)[order].requires_grad_()
        value = loss(questions, labels, ref_emb=answers, ref_labels=labels.clone())
        value.backward()
        values.append(f"{value:.2f}")
    gradient = "None" if answers.grad is None else "some"
    parts.append(f"{name} {values[0]} and {values[1]}, gradient of answers {gradient}")
version = importlib.metadata.version("pytorch-metric-learning")
print(f"pytorch-metric-learning {version}, right answers and those of others: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytorch-metric-learning 2.9.0, right answers and those of others: TCM 0.00 and 0.00, gradient of\
 answers None; contrastive 0.00 and 1.40, gradient of answers some"
