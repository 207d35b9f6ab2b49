#!/usr/bin/env bash
# The AUC of a classifier that says the same of every text is 1.00 in Catalyst, or 0.00: it is the order of the rows.
#
# Guess before the run: equal scores are a line in the curve, as in scikit-learn, so that a constant has .50.
# Seen: catalyst 22.4. Each row is a step of its own, and equal scores stay in the order of the file. A constant has
# 1.00 if the positive texts come first and 0.00 if they come last. Decisions of 0 or 1, of which 6 of 8 are right in
# each class, have 0.94 or 0.56, where scikit-learn has 0.75; scores without ties are right. Probabilities of a BERT in
# float16 and those of sure texts are often equal, and test sets are often sorted by label.
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
from catalyst.metrics.functional import auc
from sklearn.metrics import roc_auc_score

labels = np.repeat([1, 0], 8)
kinds = {
    "constant": np.full(16, 0.5),
    "decisions": np.array([1.0] * 6 + [0.0] * 2 + [1.0] * 2 + [0.0] * 6),
    "scores": np.random.default_rng(0).normal(size=16) + labels,
}
parts = []
for name, values in kinds.items():
    first, last = (
        auc(torch.tensor(values[order]), torch.tensor(labels[order])).item()
        for order in (np.arange(16), np.arange(16)[::-1].copy())
    )
    parts.append(f"{name} {first:.2f}, {last:.2f} ({roc_auc_score(labels, values):.2f})")
version = importlib.metadata.version("catalyst")
print(f"catalyst {version}, AUC with positive texts first, last (scikit-learn's): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catalyst 22.4, AUC with positive texts first, last (scikit-learn's): constant 1.00, 0.00 (0.50);\
 decisions 0.94, 0.56 (0.75); scores 1.00, 1.00 (1.00)"
