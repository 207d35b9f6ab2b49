#!/usr/bin/env bash
# The G-mean of permetrics is 1.41 for a model that finds all texts and half of the others: it divides.
#
# Guess before the run: the G-mean of a class is the root of sensitivity times specificity, in a "Range = [0, +1]": .71
# for 1.00 and .50, and less for a worse specificity.
# Seen: permetrics 2.0.0. It is the root of their quotient. With a sensitivity of 1.00 it rises from 1.00 to 2.24 while
# the specificity falls from 1.00 to .20, and with .50 and .50 it is 1.00, as of a perfect classifier. The means over
# two classes are 1.06 and 1.34, above that of a perfect one, so that a choice by G-mean takes the model that leans to
# one class.
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


def answers(sensitivity, specificity):
    """Labels and answers of 100 positive and 100 negative texts."""
    counts = (int(100 * sensitivity), int(100 * (1 - specificity) + 0.5))
    return np.repeat([1, 0], 100), np.concatenate([np.arange(100) < count for count in counts]).astype(int)


parts = []
for pair in ((1.0, 1.0), (1.0, 0.5), (1.0, 0.2), (0.5, 0.5)):
    metric = ClassificationMetric(*answers(*pair))
    values = metric.g_mean_score(average=None)
    row = f"{pair[0]:.2f} and {pair[1]:.2f}: class 1 {values[1]:.2f}, macro {metric.g_mean_score():.2f}"
    parts.append(f"{row}, root of the product {np.prod(pair) ** 0.5:.2f}")
print(f"permetrics {importlib.metadata.version('permetrics')}, G-mean of {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "permetrics 2.0.0, G-mean of 1.00 and 1.00: class 1 1.00, macro 1.00, root of the product 1.00; 1.00\
 and 0.50: class 1 1.41, macro 1.06, root of the product 0.71; 1.00 and 0.20: class 1 2.24, macro 1.34, root of the\
 product 0.45; 0.50 and 0.50: class 1 1.00, macro 1.00, root of the product 0.50"
