#!/usr/bin/env bash
# Class weights make fastai's focal loss take easy texts for hard ones: weight 10 counts up to 900 times.
#
# Guess before the run: `FocalLoss(weight=[1, 10])` is ten times as large for a text of class 1 as without weights, as
# the factor alpha of the paper; "easy" is one that has a high probability.
# Seen: fastai 2.8.12. The probability is taken back from the loss that is weighted already: p to the power of the
# weight. A text of class 1 that has a probability of .90 is taken for one of .35, so that it is not left out: its loss
# is 424 times as large with weight 10, and that of a text with .99 is 914 times as large. For a weight below 1 it is
# the other way: hard texts are taken for easy ones, with weight .1 a text that has .10 counts .005 times instead of .1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    fastai==2.8.12 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import fastai
import torch
from fastai.losses import FocalLoss

target = torch.tensor([1])


def times(probability, weight):
    """How much more a text of class 1 costs with the weight."""
    scores = torch.tensor([[1 - probability, probability]]).log()
    return float(FocalLoss(weight=torch.tensor([1.0, weight]))(scores, target) / FocalLoss()(scores, target))


parts = [
    f"weight {weight:g}: " + ", ".join(f"of {probability} {times(probability, weight):.3g}" for probability in values)
    for weight, values in ((10.0, (0.5, 0.9, 0.99)), (0.1, (0.1, 0.5)))
]
print(f"fastai {fastai.__version__}, times as much for a probability, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fastai 2.8.12, times as much for a probability, weight 10: of 0.5 39.9, of 0.9 424, of 0.99 914;\
 weight 0.1: of 0.1 0.00522, of 0.5 0.00179"
