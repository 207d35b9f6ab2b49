#!/usr/bin/env bash
# The area under precision-recall-gain's curve is infinite for every classifier, and the curve takes odds for a share.
#
# Guess before the run: the area under the precision-recall-gain curve of a classifier is a number up to 1, as in the
# paper by Flach and Kull, and a point of the curve has the gains that the package's own `precision_gain_score` and
# `recall_gain_score` have at its threshold.
# Seen: precision-recall-gain 0.1.1. The area is inf at 10, 30 and 50 % of positive texts and -inf at 70 %: the curve
# ends at a recall of 0, whose gain is minus infinity, and the area adds it. The paper's area, over recall gains from
# 0 on, is .86, .82, .73 and .61. The curve divides the positives by the negatives where the formula has the share of
# all texts: at 30 % and the threshold 1 the gains are .58 and .69 in the curve and .75 and .82 in the package's
# scores, and at 70 % the curve's gains are above 1, which is the best that there is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.5.2 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    precision-recall-gain==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from precision_recall_gain import precision_gain_score, prg, recall_gain_score

random = np.random.default_rng(0)
parts = []
for share in (0.1, 0.3, 0.5, 0.7):
    labels = (random.uniform(size=2000) < share).astype(int)
    scores = 1.5 * labels + random.normal(size=2000)
    area = prg.area_under_precision_recall_gain_score(labels, scores)
    ordered = labels[np.argsort(-scores)]
    found, ranks, positive = np.cumsum(ordered), np.arange(1, 2001), labels.mean()
    precision, recall = found / ranks, found / labels.sum()
    keep = recall >= positive
    gains = [(x[keep] - positive) / ((1 - positive) * x[keep]) for x in (precision, recall)]
    right = np.trapezoid(gains[0], gains[1])
    chosen = (scores >= 1).astype(int)
    curve = prg.precision_recall_gain_curve(labels, scores)
    place = np.searchsorted(np.sort(scores[scores >= scores[labels == 1].min()]), 1)
    point = [float(values[place]) for values in curve]
    own = [precision_gain_score(labels, chosen), recall_gain_score(labels, chosen)]
    words = " ".join(f"{value:.2f}" for value in point + own)
    parts.append(f"{share:.0%} positive: area {area} of {right:.2f}, at 1 {words}")
print(f"precision-recall-gain {importlib.metadata.version('precision-recall-gain')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "precision-recall-gain 0.1.1: 10% positive: area inf of 0.86, at 1 0.71 0.92 0.74 0.93; 30% positive:\
 area inf of 0.82, at 1 0.58 0.69 0.75 0.82; 50% positive: area inf of 0.73, at 1 -4.37 -9.22 0.77 0.56; 70%\
 positive: area -inf of 0.61, at 1 1.19 1.76 0.75 0.00"
