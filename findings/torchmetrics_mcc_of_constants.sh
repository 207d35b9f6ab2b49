#!/usr/bin/env bash
# For a classifier that gives every text the same label TorchMetrics has a Matthews correlation of up to 0.98.
#
# Guess before the run: the score of CoLA is 0 for a classifier that has learned nothing and calls all sentences
# acceptable, as in scikit-learn and in GLUE's evaluation, whatever the share of acceptable sentences.
# Seen: TorchMetrics 1.9.0, scikit-learn 1.9.1, no warning. Where a row or column of the confusion matrix is empty an
# epsilon stands for the division by zero, so that the score is not 0 but grows with the share of the frequent class:
# 0.03 of CoLA's 1,043 sentences, 0.27 for 90 of 100, 0.98 for 99 of 100. Always the rare label is
# negative in the same way. One sentence with the other label, wrongly, and it falls to -0.01, as in scikit-learn: so
# a collapsed run looks best, and the best weights are those of the collapse.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchmetrics==1.9.0 scikit-learn==1.9.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sklearn
import sklearn.metrics
import torch
import torchmetrics


def score(right, found):
    metric = torchmetrics.MatthewsCorrCoef(task="binary")
    theirs = metric(found, right).item() + 0.0
    return f"{theirs:.2f} {sklearn.metrics.matthews_corrcoef(right, found):.2f}"


words = []
for count, positive in ((1043, 721), (100, 90), (100, 99)):
    right = (torch.arange(count) < positive).long()
    same = torch.ones(count, dtype=torch.long)
    other = same.clone()
    other[0] = 0
    words.append(f"{positive} of {count}: always 1 {score(right, same)}, but for one {score(right, other)}")
print(f"torchmetrics {torchmetrics.__version__}, scikit-learn {sklearn.__version__}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchmetrics 1.9.0, scikit-learn 1.9.1: 721 of 1043: always 1 0.03 0.00, but for one -0.02 -0.02;\
 90 of 100: always 1 0.27 0.00, but for one -0.03 -0.03; 99 of 100: always 1 0.98 0.00, but for one -0.01 -0.01"
