#!/usr/bin/env bash
# The AUC of a classifier that says the same of every text is 0 in permetrics, and that of labels it says is too low.
#
# Guess before the run: `roc_auc_score` of equal scores is .50, and that of scores rounded to three levels close to that
# of the scores.
# Seen: permetrics 2.0.0. The curve begins at the highest score and not at 0, so that the area left of it is lost: all
# of it for equal scores, which have 0.00, worse than any model. Of scores that are rounded to 0 or 1 it is .76 instead
# of .83. With many different scores, and with perfect ones, it is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    permetrics==2.0.0 numpy==1.26.4 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from permetrics import ClassificationMetric

random = np.random.default_rng(0)
labels = np.repeat([0, 1], 500)
scores = 1 / (1 + np.exp(-random.normal(2.0 * labels - 1, 1.0)))


def rank_auc(values):
    """The share of pairs in order, ties as halves."""
    pairs = values[labels == 1][:, None] - values[labels == 0]
    return ((pairs > 0) + (pairs == 0) / 2).mean()


parts = []
for name, values in {
    "scores": scores,
    "rounded to .1": scores.round(1),
    "to 0, .5, 1": (scores * 2).round() / 2,
    "to 0 or 1": scores.round(),
    "all equal": np.full(1000, 0.5),
    "labels": labels * 1.0,
}.items():
    found = ClassificationMetric(labels, np.stack([1 - values, values], axis=1)).roc_auc_score()
    parts.append(f"{name} {found:.2f} (pairs {rank_auc(values):.2f})")
print(f"permetrics {importlib.metadata.version('permetrics')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.0.0: scores 0.92 (pairs 0.92), rounded to .1 0.92 (pairs 0.92), to 0, .5, 1 0.84 (pairs\
 0.84), to 0 or 1 0.76 (pairs 0.83), all equal 0.00 (pairs 0.50), labels 1.00 (pairs 1.00)"
