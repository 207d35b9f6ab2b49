#!/usr/bin/env bash
# A query without any right document has a reciprocal rank of 1.00 in allRank, as soon as another query has one.
#
# Guess before the run: mrr is the mean of 1 / rank of the first document with a label above 0, and 0 for a query that
# has none, whatever queries share its batch.
# Seen: allrank 1.4.3 with torch 2.13.0. The first of the greatest labels is taken, which is the first document where
# all labels are 0; 0 is put only if the sum of the greatest labels of the whole batch is 0. So one query whose third
# document is right has .33, with nine that have no right document .93 (.03 by definition). And of grades the rank of
# the best one counts: 1 first and 3 last is .20, not 1. (The module is loaded by its path, since the package's import
# wants torchvision, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    allrank==1.4.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
from types import SimpleNamespace

import torch

sys.modules["allrank.data.dataset_loading"] = SimpleNamespace(PADDED_Y_VALUE=-1)
path = importlib.metadata.distribution("allrank").locate_file("allrank/models/metrics.py")
spec = importlib.util.spec_from_file_location("metrics", path)
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)


def mean(lists):
    """Of documents in the order of their scores, padded as allRank pads them."""
    longest = max(map(len, lists))
    labels = torch.tensor([[*labels, *[-1.0] * (longest - len(labels))] for labels in lists])
    scores = torch.arange(longest, 0, -1.0).expand(len(lists), -1)
    return metrics.mrr(scores, labels).mean().item()


def right(lists):
    places = [next((1 / place for place, label in enumerate(labels, start=1) if label > 0), 0) for labels in lists]
    return sum(places) / len(places)


none, third, graded = [0.0] * 5, [0.0, 0, 1, 0, 0], [1.0, 0, 0, 0, 3]
cases = {
    "nothing right, one query": [none],
    "third right": [third],
    "both queries": [third, none],
    "nine of ten without": [third, *[none] * 9],
    "grade 1 first, grade 3 last": [graded],
}
parts = [f"{name} {mean(lists):.2f} {right(lists):.2f}" for name, lists in cases.items()]
print(f"allrank {importlib.metadata.version('allrank')}, MRR and that of the definition: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "allrank 1.4.3, MRR and that of the definition: nothing right, one query 0.00 0.00; third right 0.33\
 0.33; both queries 0.67 0.17; nine of ten without 0.93 0.03; grade 1 first, grade 3 last 0.20 1.00"
