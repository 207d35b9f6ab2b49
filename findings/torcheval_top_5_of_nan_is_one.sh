#!/usr/bin/env bash
# A BERT whose training has diverged has a top-5 accuracy, a reciprocal rank and a hit rate of 1.00 in torcheval.
#
# Guess before the run: where all logits of the masked words are NaN, or the same, the right word is among the first
# five by chance, 5 of 1,000, and a re-ranker that scores its ten documents alike has the reciprocal rank of chance.
# Seen: torcheval 0.0.7, scikit-learn 1.9.1, PyTorch 2.13.0. All are 1.00: a rank is the number of scores that are
# greater than that of the right word, and none is. With k=1 the same function says .00, as it takes the first maximum.
# scikit-learn has .005 for equal logits. Whoever keeps the best checkpoint by these keeps the broken one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torcheval==0.0.7 scikit-learn==1.9.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from sklearn.metrics import top_k_accuracy_score
from torcheval.metrics import HitRate, MulticlassAccuracy, ReciprocalRank

words = torch.arange(1000).flip(0)
parts = []
for name, value in (("NaN", float("nan")), ("equal", 0.0)):
    logits = torch.full((1000, 1000), value)
    top = [float(MulticlassAccuracy(k=k).update(logits, words).compute()) for k in (1, 5)]
    documents, right = logits[:100, :10], words[:100] % 10
    ranks = [metric.update(documents, right).compute().mean() for metric in (ReciprocalRank(), HitRate(k=3))]
    parts.append(f"{name}: top 1 {top[0]:.3f}, top 5 {top[1]:.3f}, reciprocal rank {ranks[0]:.2f}, hits {ranks[1]:.2f}")
other = top_k_accuracy_score(words, logits, k=5, labels=np.arange(1000))
print(f"torcheval {importlib.metadata.version('torcheval')}: {'; '.join(parts)}; scikit-learn: top 5 {other:.3f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torcheval 0.0.7: NaN: top 1 0.001, top 5 1.000, reciprocal rank 1.00, hits 1.00; equal: top 1 0.001,\
 top 5 1.000, reciprocal rank 1.00, hits 1.00; scikit-learn: top 5 0.005"
