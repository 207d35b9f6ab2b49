#!/usr/bin/env bash
# A re-ranker that scores all documents alike has an MRR and a MAP of 1.00 in YDF, whichever is right, and an nDCG of .29.
#
# Guess before the run: `evaluate_predictions(..., Task.RANKING)` of equal scores is what a random order has, or what
# the order of the rows has, in all three of its metrics.
# Seen: ydf 0.16.1. The reciprocal rank and the average precision put relevant documents first among equal scores;
# nDCG takes the mean over their orders. One right document of ten, equal scores: MRR and MAP 1.00 and nDCG@5 .29, at
# every row it may have; in a random order the MRR@5 would be .23. Of a model whose scores are rounded to one digit
# MRR rises from .67 to .72, and to 0 or 1 to .83, while nDCG falls from .73 to .72 and .60: a coarser model seems
# better than its original.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ydf==0.16.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import ydf
from ydf.metric import evaluate

rng = np.random.default_rng(0)
queries = np.repeat(np.arange(500), 10)


def scores(predictions, labels):
    result = evaluate.evaluate_predictions(
        predictions.ravel(), labels.ravel(), ydf.Task.RANKING, ranking_groups=queries, num_threads=1
    )
    return f"{result.mrr:.2f} {result.map:.2f} {result.ndcg:.2f}"


def place(number):
    """Labels of 500 questions with the right document in one row of ten."""
    return np.tile(np.arange(10) == number, (500, 1)).astype(float)


labels = place(0)
model = 1 / (1 + np.exp(-(1.5 * labels + rng.normal(size=labels.shape) - 1)))
kinds = {
    "equal, right one first": (np.full((500, 10), 0.5), place(0)),
    "equal, right one last": (np.full((500, 10), 0.5), place(9)),
    "a model": (model, labels),
    "rounded to .1": (model.round(1), labels),
    "to 0 or 1": (model.round(), labels),
}
words = [f"{name} {scores(*kind)}" for name, kind in kinds.items()]
print(f"ydf {importlib.metadata.version('ydf')}: MRR, MAP, nDCG: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ydf 0.16.1: MRR, MAP, nDCG: equal, right one first 1.00 1.00 0.29, equal, right one last 1.00 1.00\
 0.29, a model 0.67 0.67 0.73, rounded to .1 0.72 0.72 0.72, to 0 or 1 0.83 0.83 0.60"
