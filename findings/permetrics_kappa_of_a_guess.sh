#!/usr/bin/env bash
# Cohen's kappa of mere guesses is .34 in permetrics, and .82 for a class of nine texts in ten: both are to be 0.
#
# Guess before the run: `cohen_kappa_score` of answers that are drawn without the text is 0, for each class and on
# average.
# Seen: permetrics 2.0.0, NumPy 1.26.4. For each class the agreement by chance counts the class alone, and not the texts
# that neither takes for it, while both count as agreement. Of two equal classes guesses have .34, and where nine of ten
# texts are of one class .82 for that class and .42 on average. Cohen's formula has .01 and -.03 for the same answers. A
# perfect classifier has 1.00.
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


def kappa(labels, answers):
    classes = np.unique(labels)
    expected = sum((labels == c).mean() * (answers == c).mean() for c in classes)
    return ((labels == answers).mean() - expected) / (1 - expected)


parts = []
for share in (0.5, 0.9):
    labels = (random.uniform(size=10000) < share).astype(int)
    guesses = (random.uniform(size=10000) < share).astype(int)
    metric = ClassificationMetric(labels, guesses)
    row = " and ".join(f"{value:.2f}" for value in metric.cohen_kappa_score(average=None).values())
    row += f", macro {metric.cohen_kappa_score():.2f}, kappa {kappa(labels, guesses):.2f}"
    parts.append(f"share {share}: classes {row}")
metric = ClassificationMetric(labels, labels)
parts.append(f"perfect {metric.cohen_kappa_score():.2f}")
print(f"permetrics {importlib.metadata.version('permetrics')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.0.0, share 0.5: classes 0.34 and 0.34, macro 0.34, kappa 0.01; share 0.9: classes 0.82\
 and 0.02, macro 0.42, kappa -0.03; perfect 1.00"
