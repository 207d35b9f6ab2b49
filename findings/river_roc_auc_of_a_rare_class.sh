#!/usr/bin/env bash
# A calibrated classifier of a rare class has a ROC AUC of .51 in river, where it is .80, and a worse model has more.
#
# Guess before the run: ROCAUC of river, whose error "is not significant as long as the predicted probabilities are well
# calibrated", and which "can still be used to reliably compare models", is near the AUC for a BERT that finds 1 text in
# 100, and lower for a model with more noise.
# Seen: river 0.26.1. Of 20,000 texts .8 % are positive. The probabilities from which the labels are drawn have .51,
# exactly .80; a model with noise, whose logits are four too high, has .73, and that is right. The curve has ten
# thresholds from 0 to 1, and all but one of them are above nearly every calibrated probability of a rare class. With
# 100 thresholds the two have .74 and .73.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    river==0.26.1 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from river import metrics
from sklearn.metrics import roc_auc_score

random = np.random.default_rng(0)
logits = random.normal(-5.5, 1.2, 20000)
true = 1 / (1 + np.exp(-logits))
labels = random.random(20000) < true
models = {
    "calibrated": true,
    "half noise, four logits too high": 1 / (1 + np.exp(-(logits + 4 + random.normal(0, 1, 20000)))),
}
parts = [f"{labels.mean():.3f} positive"]
for name, scores in models.items():
    seen = []
    for thresholds in (10, 100):
        metric = metrics.ROCAUC(n_thresholds=thresholds)
        for label, score in zip(labels, scores):
            metric.update(bool(label), float(score))
        seen.append(f"{metric.get():.2f}")
    parts.append(f"{name}: {seen[0]}, with 100 thresholds {seen[1]}, exactly {roc_auc_score(labels, scores):.2f}")
print(f"river {importlib.metadata.version('river')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "river 0.26.1: 0.008 positive; calibrated: 0.51, with 100 thresholds 0.74, exactly 0.80; half noise,\
 four logits too high: 0.73, with 100 thresholds 0.73, exactly 0.73"
