#!/usr/bin/env bash
# The online p-values of crepes for true labels, without smoothing, are those of calibration texts: any text is fine.
#
# Guess before the run: `predict_p_online(..., all_classes=False)` is the column of the true label of what
# `all_classes=True` gives, with and without smoothing.
# Seen: crepes 0.9.1. With smoothing the two agree up to their random part. Without it the p-value of the n-th text is
# that of the n-th calibration text, which stands at that place of the array: the correlation with the right values is
# .09. Of 200 texts that are stranger than all 500 for calibration none has a p below .05, where 89 have it by the right
# values (the others have strange texts before them). A monitor of a BERT that is built on them sees no drift.
# Without calibration texts the values are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    crepes==0.9.1 scikit-learn==1.9.1 pandas==3.1.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from crepes import ConformalClassifier

random = np.random.default_rng(0)
classes = np.array([0, 1])
labels = np.zeros(200, int)
classifier = ConformalClassifier().fit(random.uniform(size=500))
scores = random.uniform(size=(200, 2))


def p_values(scores, **options):
    """P-values of the true labels: asked for alone, and taken out of those of all labels."""
    alone = classifier.predict_p_online(scores, classes, labels, all_classes=False, seed=0, **options)
    every = classifier.predict_p_online(scores, classes, labels, all_classes=True, seed=0, **options)
    return alone, every[:, 0]


words = []
for name, options in {
    "smoothed": {},
    "not smoothed": {"smoothing": False},
    "not smoothed, cold": {"smoothing": False, "warm_start": False},
}.items():
    alone, every = p_values(scores, **options)
    words.append(f"{name} {np.corrcoef(alone, every)[0, 1]:.2f}")
alone, every = p_values(scores + 2, smoothing=False)
strange = f"of 200 strange texts {(alone < 0.05).sum()} have p < .05, right are {(every < 0.05).sum()}"
print(f"crepes {importlib.metadata.version('crepes')}: correlation {', '.join(words)}; {strange}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "crepes 0.9.1: correlation smoothed 1.00, not smoothed 0.09, not smoothed, cold 1.00; of 200 strange\
 texts 0 have p < .05, right are 89"
