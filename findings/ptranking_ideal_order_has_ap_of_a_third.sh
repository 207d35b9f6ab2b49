#!/usr/bin/env bash
# PT-Ranking's average precision of the ideal order is .39 with labels 0 to 4, and its Kendall's tau reads distances.
#
# Guess before the run: the ideal order has an average precision of 1, also with graded labels, which the function cuts
# to 0 and 1 (scikit-learn has the same for the shuffled ones); Kendall's tau of falling scores is -1 on any scale.
# Seen: ptranking 0.0.5 with torch 2.13.0. The labels are cut to 0 and 1 above the line, but not in the number of
# relevant documents that divides the sum, so that higher grades lower it. Tau counts differences cut to at most 1
# instead of their signs: scores that fall by .1 have -.23, by .01 .86, where they should have -1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    ptranking==0.0.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from ptranking.metric.adhoc_metric import torch_ap_at_k, torch_kendall_tau
from scipy.stats import kendalltau
from sklearn.metrics import average_precision_score

rng = np.random.default_rng(0)
found = []
for name, grades in (("0 and 1", 2), ("0 to 2", 3), ("0 to 4", 5)):
    labels = torch.tensor(np.sort(rng.integers(0, grades, 20))[::-1].copy(), dtype=torch.float32)
    order = torch.tensor(rng.permutation(20))
    aps = [torch_ap_at_k(ranked[None], labels[None], k=20).item() for ranked in (labels, labels[order])]
    right = average_precision_score((labels[order] > 0).numpy(), -np.arange(20))
    found.append(f"labels {name}: the ideal {aps[0]:.2f}, shuffled {aps[1]:.2f} ({right:.2f})")
taus = []
for scale in (1, 0.1, 0.01):
    scores = torch.arange(20, dtype=torch.float32).flip(0) * scale
    taus.append(f"times {scale} {torch_kendall_tau(scores).item():.2f} ({kendalltau(np.arange(20), scores)[0]:.2f})")
print(
    f"ptranking {importlib.metadata.version('ptranking')}, average precision:",
    "; ".join(found) + "; Kendall's tau of 20 falling scores",
    ", ".join(taus),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ptranking 0.0.5, average precision: labels 0 and 1: the ideal 1.00, shuffled 0.72 (0.72); labels 0 to\
 2: the ideal 0.64, shuffled 0.61 (0.95); labels 0 to 4: the ideal 0.39, shuffled 0.34 (0.86);\
 Kendall's tau of 20 falling scores times 1 -1.00 (-1.00), times 0.1 -0.23 (-1.00), times 0.01 0.86\
 (-1.00)"
