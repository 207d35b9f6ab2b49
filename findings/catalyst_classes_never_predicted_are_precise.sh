#!/usr/bin/env bash
# A classifier that says one class of ten for every text has a macro precision of .99 in Catalyst: 0 of 0 is 1.00.
#
# Guess before the run: a class that is never predicted has a precision of 0, which is what `zero_division=0`, the
# default, is for, as in scikit-learn.
# Seen: catalyst 22.4. `precision_recall_fbeta_support` adds a small number to the hits and to what they are divided by,
# so that 0 of 0 is 1.00, and it never reads `zero_division`. Of 1,000 texts 910 are of one class; a constant has a
# macro precision of 0.99, where scikit-learn has 0.09. With `num_classes=150`, of which 140 don't occur in the test
# set, recall and F1 are 0.94 as well, where these are 0.01: each class that is missing on both sides counts as a
# perfect one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    catalyst==22.4 torch==2.14.1 numpy==2.4.6 six==1.17.0 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from catalyst.metrics.functional import precision_recall_fbeta_support
from sklearn.metrics import precision_recall_fscore_support

labels = np.repeat(np.arange(10), [910, *[10] * 9])
constant = np.zeros_like(labels)
parts = []
for name, size in {"ten classes": 10, "ten of 150": 150}.items():
    options = {"labels": np.arange(size), "zero_division": 0}
    ours = precision_recall_fbeta_support(
        torch.tensor(constant), torch.tensor(labels), num_classes=size, zero_division=0
    )
    theirs = precision_recall_fscore_support(labels, constant, **options)
    values = [f"{float(a.mean()):.2f} ({b.mean():.2f})" for a, b in zip(ours[:3], theirs[:3])]
    parts.append(f"{name} {', '.join(values)}")
version = importlib.metadata.version("catalyst")
print(f"catalyst {version}, macro precision, recall, F1 of a constant (scikit-learn's): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catalyst 22.4, macro precision, recall, F1 of a constant (scikit-learn's): ten classes 0.99 (0.09),\
 0.10 (0.10), 0.10 (0.10); ten of 150 1.00 (0.01), 0.94 (0.01), 0.94 (0.01)"
