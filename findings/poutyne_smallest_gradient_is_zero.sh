#!/usr/bin/env bash
# The smallest gradient that Poutyne's tracker shows is 0 or less: minima begin at 0, and absolute ones stay there.
#
# Guess before the run: the tracker of gradients says per layer the smallest, the largest and the smallest absolute
# gradient that an epoch has seen: for gradients of 2, 3 and 5 these are 2, 5 and 2.
# Seen: poutyne 1.19.0. For a weight whose gradients are 2, 3 and 5 the minimum is 0 and the absolute minimum is 0; for
# -2, -3 and -5 the maximum is 0. All statistics begin at 0 instead of at an infinity, so that a minimum is never above
# 0, a maximum never below, and the absolute minimum 0 for every layer of every model. The mean of absolute gradients,
# 3.33, is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    poutyne==1.19.0 torch==2.13.0 numpy==2.4.6 torchmetrics==1.9.0 lightning-utilities==0.15.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from poutyne.framework.callbacks.gradient_tracker import WeightsGradientsStatsTracker


def statistics(gradients):
    weight = torch.nn.Parameter(torch.zeros(2))
    tracker = WeightsGradientsStatsTracker(1)
    for gradient in gradients:
        weight.grad = torch.full((2,), gradient)
        tracker.batch_statistic_upgrade([("weight", weight)])
    stats = tracker.get_stats(["weight"])["weight"]
    return ", ".join(f"{name} {float(stats[name]):.2f}" for name in ("mean", "min", "abs_min", "max"))


positive = statistics([2.0, 3.0, 5.0])
negative = statistics([-2.0, -3.0, -5.0])
print(f"poutyne {importlib.metadata.version('poutyne')}: 2 3 5: {positive}; -2 -3 -5: {negative}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "poutyne 1.19.0: 2 3 5: mean 3.33, min 0.00, abs_min 0.00, max 5.00; -2 -3 -5: mean 3.33, min -5.00, ab\
s_min 0.00, max 0.00"
