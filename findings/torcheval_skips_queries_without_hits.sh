#!/usr/bin/env bash
# RetrievalPrecision of torcheval leaves out, or scores 1, the queries whose first k documents are all wrong.
#
# Guess before the run: `empty_target_action`, for a "`target` [that] does not contain at least one positive element",
# touches queries that have no right document at all, as in TorchMetrics.
# Seen: torcheval 0.0.7, TorchMetrics 1.9.0, PyTorch 2.13.0. Of four queries with a right document each the re-ranker
# has one among its first two. Precision@2 is .125 with "neg" in both; with "skip", which should change nothing here,
# torcheval says .50, with "pos" .875, and with "err" it finds "no positive value": it looks for them among the k that
# it has kept. The worse a ranking is, the fewer queries count, and each has a hit.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torcheval==0.0.7 torchmetrics==1.9.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
import torcheval.metrics
import torchmetrics.retrieval

scores = torch.tensor([0.9, 0.8, 0.7, 0.1] * 4)
right = torch.tensor([1, 0, 0, 0] + [0, 0, 0, 1] * 3)
query = torch.arange(4).repeat_interleave(4)
parts = []
for action in ("neg", "skip", "pos"):
    metric = torcheval.metrics.RetrievalPrecision(action, k=2, num_queries=4, avg="macro")
    metric.update(scores, right, query)
    other = torchmetrics.retrieval.RetrievalPrecision(empty_target_action=action, top_k=2)
    parts.append(f"{action} {metric.compute():.3f} {other(scores, right, query):.3f}")
print(f"torcheval {importlib.metadata.version('torcheval')} and TorchMetrics: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torcheval 0.0.7 and TorchMetrics: neg 0.125 0.125, skip 0.500 0.125, pos 0.875 0.125"
