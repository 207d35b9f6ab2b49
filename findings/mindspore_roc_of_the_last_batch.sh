#!/usr/bin/env bash
# The ROC curve of MindSpore is that of the last batch: a model that is wrong in 9 of 10 batches has an AUC of 1.00.
#
# Guess before the run: `ROC.update`, which the other metrics of MindSpore collect batches with, collects them here, and
# `eval` gives the curve of all.
# Seen: MindSpore 2.10.0, scikit-learn 1.9.1. Each `update` replaces what was there. With scores that are turned round
# in nine batches of 20 texts and right in the tenth the AUC is 1.00, where it is .11 of all texts; in the other order
# it is .00 where it is .89. One `update` with all texts is right. `ConfusionMatrix` beside it adds up.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mindspore==2.10.0 numpy==1.26.4 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import mindspore
import numpy as np
from mindspore import Tensor
from mindspore.train import ROC, auc
from sklearn.metrics import roc_auc_score

random = np.random.default_rng(0)
labels = random.integers(0, 2, (10, 20))
right = (labels * 0.5 + random.uniform(0, 0.5, labels.shape)).astype(np.float32)


def area(scores, batches):
    metric = ROC(pos_label=1)
    for part, answers in zip(np.split(scores.ravel(), batches), np.split(labels.ravel(), batches)):
        metric.update(Tensor(part), Tensor(answers.astype(np.int32)))
    rates = metric.eval()
    return auc(rates[0], rates[1])


parts = []
for name, numbers in (("last batch right", [9]), ("last batch wrong", range(9))):
    scores = 1 - right
    scores[list(numbers)] = right[list(numbers)]
    truth = roc_auc_score(labels.ravel(), scores.ravel())
    parts.append(f"{name} {area(scores, 10):.2f}, at once {area(scores, 1):.2f}, scikit-learn {truth:.2f}")
print(f"mindspore {mindspore.__version__}, AUC: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mindspore 2.10.0, AUC: last batch right 1.00, at once 0.11, scikit-learn 0.11; last batch wrong 0.00,\
 at once 0.89, scikit-learn 0.89"
