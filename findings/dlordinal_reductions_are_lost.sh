#!/usr/bin/env bash
# `reduction="none"` and "sum" of the MCEAndWKLoss of dlordinal return the mean: the loss inside never hears of them.
#
# Guess before the run: with C=0 the loss is that of MCELoss, for every reduction: a value per class for "none", as its
# page says, and five times the mean of five classes for "sum".
# Seen: dlordinal 2.7.0. All three are the mean, .18, where MCELoss has .91 for "sum" and five values for "none". The
# argument is checked and kept, and the loss inside is made without it. So a run that was tuned with sums of MCELoss and
# adds the kappa by MCEAndWKLoss learns from errors that are a fifth of what they were.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dlordinal==2.7.0 torch==2.14.1 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from dlordinal.losses import MCEAndWKLoss, MCELoss

torch.manual_seed(0)
logits, labels = torch.randn(8, 5), torch.randint(0, 5, (8,))
words = []
for reduction in ("mean", "sum", "none"):
    values = []
    for loss in (
        MCEAndWKLoss(5, C=0.0, reduction=reduction, use_logits=True),
        MCELoss(5, reduction=reduction, use_logits=True),
    ):
        value = loss(logits, labels)
        values.append(" ".join(f"{one:.2f}" for one in value.flatten().tolist()))
    words.append(f"{reduction} {values[0]} ({values[1]})")
print(f"dlordinal {importlib.metadata.version('dlordinal')}, MCEAndWKLoss with C=0 (MCELoss): {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dlordinal 2.7.0, MCEAndWKLoss with C=0 (MCELoss): mean 0.18 (0.18), sum 0.18 (0.91), none 0.18 (0.05\
 0.24 0.15 0.28 0.19)"
