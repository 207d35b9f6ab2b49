#!/usr/bin/env bash
# A ranking that finds one of ten right passages has an average precision of 1.00 in Catalyst, and .60 if it finds two.
#
# Guess before the run: "If a relevant document never gets retrieved, we assume the precision corresponding to that
# relevant doc to be zero", as its page says: one of ten at the first place is .10.
# Seen: catalyst 22.4. The sum is divided by the right passages among the first k: MAP@10 is 1.00 if the first of ten
# right ones is at place 1 and the others are not among the first ten, and 0.60 if a second one is found at place 10; by
# TREC's definition these are 0.10 and 0.12. Where labels are integers it is 1.00 in the second case as well: precisions
# are cut to whole numbers. Of two retrievers the one that finds less wins.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    catalyst==22.4 torch==2.14.1 numpy==2.4.6 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from catalyst.metrics.functional import mean_average_precision


def row(*places):
    """Scores and labels of 40 passages, ten of them right: these places, and the rest at the end."""
    labels = torch.zeros(1, 40)
    labels[0, [place - 1 for place in places]] = 1
    labels[0, 30 + len(places) :] = 1
    return torch.arange(40, 0, -1.0)[None], labels


def definition(labels, k=10):
    hits = labels[0].cumsum(0)
    return sum((hits[place] / (place + 1)).item() for place in range(k) if labels[0, place]) / labels.sum().item()


parts = []
for places in ((1,), (1, 10), (1, 2, 3)):
    scores, labels = row(*places)
    values = [mean_average_precision(scores, kind, [10])[0].item() for kind in (labels, labels.long())]
    parts.append(f"found at {places}: {values[0]:.2f}, integers {values[1]:.2f} ({definition(labels):.2f})")
print(f"catalyst {importlib.metadata.version('catalyst')}, MAP@10 (by the definition): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catalyst 22.4, MAP@10 (by the definition): found at (1,): 1.00, integers 1.00 (0.10); found at (1,\
 10): 0.60, integers 1.00 (0.12); found at (1, 2, 3): 1.00, integers 1.00 (0.30)"
