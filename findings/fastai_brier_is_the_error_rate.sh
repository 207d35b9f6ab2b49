#!/usr/bin/env bash
# The Brier score of fastai is the error rate: it scores decisions of 0 and 1, and doesn't read how sure a BERT is.
#
# Guess before the run: `BrierScore()`, "Brier score for single-label classification problems", is the mean squared
# error of the probability of class 1, as in scikit-learn.
# Seen: fastai 2.8.12, scikit-learn 1.9.1. The logits are replaced by their best class before scikit-learn's function is
# called. Of calibrated probabilities the score is .25 where it is .16; it stays .25 if the same model is far too sure
# (.21) or far too timid (.21). It can't choose a temperature, which is what it is used for. `RocAucBinary` and
# `APScoreBinary` beside it read the probability.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    fastai==2.8.12 torch==2.13.0 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
from types import SimpleNamespace

import fastai
import numpy as np
import sklearn.metrics
import torch
from fastai.metrics import BrierScore

random = np.random.default_rng(0)
truth = random.uniform(size=2000)
labels = torch.tensor((random.uniform(size=2000) < truth).astype(int))
parts = []
for name, factor in (("calibrated", 1.0), ("too sure", 5.0), ("too timid", 0.2)):
    scores = factor * torch.tensor(np.log(truth / (1 - truth)))
    batch = SimpleNamespace(pred=torch.stack([torch.zeros(2000), scores], 1), y=labels, to_detach=lambda value: value)
    metric = BrierScore()
    metric.reset()
    metric.accumulate(batch)
    right = sklearn.metrics.brier_score_loss(labels.numpy(), scores.sigmoid().numpy())
    parts.append(f"{name} {metric.value:.2f}, scikit-learn {right:.2f}")
errors = float(((truth > 0.5) != labels.numpy()).mean())
print(f"fastai {fastai.__version__}, Brier score: {'; '.join(parts)}; errors {errors:.2f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "fastai 2.8.12, Brier score: calibrated 0.25, scikit-learn 0.16; too sure 0.25, scikit-learn 0.21; too\
 timid 0.25, scikit-learn 0.21; errors 0.25"
