#!/usr/bin/env bash
# The one-error of ALiPy is 1.00 for a perfect classifier of texts with several labels, and 1.00 for one always wrong.
#
# Guess before the run: `one_error` is the share of texts whose highest score belongs to a label that they haven't, 0
# for perfect scores; micro_auc_score is scikit-learn's roc_auc_score(average="micro").
# Seen: alipy 1.2.5. one_error is the share of texts for which as many labels are predicted as they have, right or not:
# 1 for the right labels, 1 for one wrong label each, and with probabilities, which its documentation asks for, 0 for
# all. micro_auc_score is the macro average, .80 for .88, and counts equal scores as wrong: .00 where all are equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    alipy==1.2.5 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from alipy.metrics.performance import micro_auc_score, one_error
from sklearn.metrics import roc_auc_score

random = np.random.default_rng(0)
right = np.eye(4, dtype=int)[random.choice(4, 400, p=(0.7, 0.1, 0.1, 0.1))]
wrong = np.roll(right, 1, axis=1)
scores = 0.3 * random.random(right.shape) + 0.1 * right + (0.6, 0.1, 0.1, 0.1)


def first(predicted):
    return np.mean(right[np.arange(400), predicted.argmax(axis=1)] == 0)


cases = ("right", right), ("wrong", wrong), ("scores", scores)
errors = [f"{name} {one_error(right, some):.2f} ({first(some):.2f})" for name, some in cases]
areas = [
    f"{micro_auc_score(right, some):.2f} (micro {roc_auc_score(right, some, average='micro'):.2f},"
    f" macro {roc_auc_score(right, some, average='macro'):.2f})"
    for some in (scores, np.ones(right.shape) / 4)
]
print(
    f"alipy {importlib.metadata.version('alipy')}, one-error and its definition: {', '.join(errors)};",
    f"AUC of scores {areas[0]}, of equal ones {areas[1]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "alipy 1.2.5, one-error and its definition: right 1.00 (0.00), wrong 1.00 (1.00), scores 0.00 (0.36);\
 AUC of scores 0.80 (micro 0.88, macro 0.80), of equal ones 0.00 (micro 0.50, macro 0.50)"
