#!/usr/bin/env bash
# The 90 % intervals of torchcp's CQRR cover 15 % of the labels: it widens them by the width of an empty array.
#
# Guess before the run: CQR-r makes intervals of two quantiles wider until they cover 90 % of the calibration labels,
# each in proportion to its width, and so about 90 % of new labels, as CQR does.
# Seen: torchcp 1.2.1. Quantiles that are too near each other cover 15 % of the labels. Calibrated with CQR, CQRM or
# CQRFM they cover 90 %. With CQRR they cover 15 % as before: scores are divided by the width, and the threshold is 3.6
# widths, but `generate_intervals` multiplies it by the width of the intervals that it has just filled with zeros.
# A regression of ratings with a BERT has no guarantee at all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 scikit-learn==1.9.1 tqdm==4.70.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    torchcp==1.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import torch

# What is not used here of torchcp needs torchsort, which has to be compiled, and packages for graphs.
sys.modules["torchsort"] = types.SimpleNamespace(soft_rank=None, soft_sort=None)
sys.modules["torchcp.graph"] = sys.modules["torchcp.llm"] = types.ModuleType("unused")
from torchcp.regression.score import CQR, CQRFM, CQRM, CQRR

torch.manual_seed(0)
middle = torch.rand(4000)
labels = middle + torch.randn(4000) / 2
two = torch.stack([middle - 0.1, middle + 0.1], 1)
three = torch.stack([middle - 0.1, middle, middle + 0.1], 1)


def coverage(intervals):
    return f"{((labels[2000:] >= intervals[:, 0]) & (labels[2000:] <= intervals[:, 1])).float().mean():.2f}"


words = [f"before {coverage(two[2000:])}"]
for kind, quantiles in ((CQR, two), (CQRM, three), (CQRFM, three), (CQRR, two)):
    score = kind()
    threshold = torch.quantile(score(quantiles[:2000], labels[:2000]).flatten(), 0.9).view(1)
    intervals = score.generate_intervals(quantiles[2000:], threshold)[:, 0]
    words.append(f"{kind.__name__} {coverage(intervals)} (threshold {threshold.item():.1f})")
print(f"torchcp {importlib.metadata.version('torchcp')}, covered of 90 %: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchcp 1.2.1, covered of 90 %: before 0.15, CQR 0.89 (threshold 0.7), CQRM 0.89 (threshold 7.3),\
 CQRFM 0.89 (threshold 8.3), CQRR 0.15 (threshold 3.6)"
