#!/usr/bin/env bash
# skorch's binary classifier takes the labels 1 and 2 for targets of a logistic loss: it says 1 to all, without a word.
#
# Guess before the run: as each classifier of scikit-learn, NeuralNetBinaryClassifier maps its two labels to 0 and 1
# before it learns and back in `predict`, or says that it wants 0 and 1.
# Seen: skorch 1.4.0, scikit-learn 1.9.1, PyTorch 2.13.0. The labels go to the loss as they are: with 1 and 2 the
# logistic loss has no minimum and falls below zero, all texts are predicted 1, and with -1 and 1 none is predicted as
# -1. `classes_` is [0, 1] in all cases, no warning comes, and `score` compares 0 and 1 with other labels. With 0 and 1
# the accuracy is .85, as logistic regression's is for any labels. What is searched over with cross-validation fails in
# the same way.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    skorch==1.4.0 scikit-learn==1.9.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from skorch import NeuralNetBinaryClassifier

random = np.random.default_rng(0)
features = random.normal(size=(400, 2)).astype(np.float32)
positive = features[:, 0] + 0.5 * random.normal(size=400) > 0
words = []
for labels in ((0, 1), (1, 2), (-1, 1)):
    torch.manual_seed(0)
    y = np.where(positive, labels[1], labels[0]).astype(np.float32)
    net = NeuralNetBinaryClassifier(
        torch.nn.Linear,
        module__in_features=2,
        module__out_features=1,
        max_epochs=30,
        lr=0.1,
        verbose=0,
        train_split=None,
    )
    net.fit(features, y)
    loss = "below 0" if net.history[-1, "train_loss"] < 0 else "above 0"
    words.append(
        f"{labels[0]} and {labels[1]}: classes {net.classes_.tolist()}, accuracy {net.score(features, y):.2f},"
        f" loss {loss},"
        f" logistic regression {LogisticRegression().fit(features, y).score(features, y):.2f}"
    )
print(f"skorch {importlib.metadata.version('skorch')}, labels {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skorch 1.4.0, labels 0 and 1: classes [0, 1], accuracy 0.85, loss above 0, logistic regression 0.86; 1\
 and 2: classes [0, 1], accuracy 0.53, loss below 0, logistic regression 0.86; -1 and 1: classes [0, 1], accuracy 0.22\
, loss below 0, logistic regression 0.86"
