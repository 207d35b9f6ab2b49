#!/usr/bin/env bash
# The Gini index of permetrics, whose best is 0, is 0 for a classifier that is always wrong, and .48 for a fair one.
#
# Guess before the run: `gini_index`, "Smaller is better (Best = 0)", grows with the share of wrong answers.
# Seen: permetrics 2.0.0. It is that of the shares of right and wrong answers: .18 for nine right texts of ten and .18
# for one, 0.00 for all and for none. Of two models with accuracies of .60 and .10 the worse one is the better by it.
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

labels = np.tile([0, 1], 50)
parts = []
for right in (100, 90, 60, 50, 10, 0):
    answers = np.where(np.arange(100) < right, labels, 1 - labels)
    parts.append(f"{right} right {ClassificationMetric(labels, answers).gini_index():.2f}")
print(f"permetrics {importlib.metadata.version('permetrics')}, of 100 texts: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.0.0, of 100 texts: 100 right 0.00, 90 right 0.18, 60 right 0.48, 50 right 0.50, 10 right\
 0.18, 0 right 0.00"
