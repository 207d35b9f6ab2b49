#!/usr/bin/env bash
# The PR AUC of a classifier that says the same of all texts is .55 in YDF if a tenth is positive: one point, one line.
#
# Guess before the run: `ydf.evaluate_predictions` gives a constant score the area .10 under precision and recall, the
# share of the positive texts, as scikit-learn's average precision, and coarser scores no larger an area.
# Seen: ydf 0.16.1 with scikit-learn 1.9.1. The area of a constant is .55, and with one positive text in a hundred .505:
# the only point of the curve is joined to precision 1 at recall 0 by a line. A ranker of 1,000 texts, a tenth positive,
# has .341 with its scores as they are, and .408 if they are rounded to 0 or 1, though its average precision falls from
# .345 to .183: by this number decisions rank better than the scores they are made of. The ROC AUC is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ydf==0.16.1 numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import sklearn
import ydf

from sklearn.metrics import average_precision_score

random = np.random.default_rng(0)
labels = np.arange(1000) % 10 == 0
scores = 1 / (1 + np.exp(-random.normal(size=1000) - 1.2 * labels + 1))


def area(values, labels):
    evaluation = ydf.evaluate_predictions(values.astype("float32"), labels.astype("int64"), ydf.Task.CLASSIFICATION)
    return evaluation.characteristics[0].pr_auc


found = [f"constant {area(np.full(1000, 0.3), labels):.3f} {average_precision_score(labels, np.full(1000, 0.3)):.3f}"]
for name, digits in (("scores", 7), ("in tenths", 1), ("decisions", 0)):
    values = np.round(scores, digits)
    found.append(f"{name} {area(values, labels):.3f} {average_precision_score(labels, values):.3f}")
rare = np.arange(1000) % 100 == 0
found.append(f"constant, one of a hundred {area(np.full(1000, 0.3), rare):.3f}")
print(f"ydf {ydf.__version__}, scikit-learn {sklearn.__version__}: {'; '.join(found)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ydf 0.16.1, scikit-learn 1.9.1: constant 0.550 0.100; scores 0.341 0.345; in tenths 0.332 0.294;\
 decisions 0.408 0.183; constant, one of a hundred 0.505"
