#!/usr/bin/env bash
# In ir-metrics P@1 of a right answer on top is 0 if another right one is named before it: it cuts the truth at k.
#
# Guess before the run: `k` is "only consider the highest k scores in the ranking", so that the set of right answers
# stays whole, in whichever order they are named, and recall@1 with six right answers is 1/6 at most.
# Seen: ir-metrics 0.1.6. The list of right answers is cut at k, too. With [4, 7] right and 7 on top, precision, recall
# and reciprocal rank at 1 are 0, and nDCG is NaN; with [7, 4] all are 1. Of six right answers one found makes a
# recall@1 of 1.00. Over 1,000 queries with five right answers each, for a ranker that has a right one on top in all of
# them, P@1 is .19 and recall@1 .19; they are 1.00 and .20. Without `k` the values are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ir-metrics==0.1.6 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
from irmetrics.topk import ndcg, precision, recall, rr

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
ranking = [7, 4, 1, 2]
parts = []
for right in ([4, 7], [7, 4]):
    values = [f"{float(metric(right, ranking, k=1)):g}" for metric in (precision, recall, rr, ndcg)]
    parts.append(f"right {right}: P R RR nDCG at 1 {' '.join(values)}")
parts.append(f"one of six found: recall@1 {float(recall([1, 2, 3, 4, 5, 6], [1, 8, 9], k=1)):.2f}")
right = np.array([rng.permutation(100)[:5] for _ in range(1000)])
on_top = np.array([row[rng.integers(5)] for row in right])
rankings = np.stack([on_top, np.full(1000, 200), np.full(1000, 201)], axis=1)
means = [f"{np.mean(metric(right, rankings, k=1)):.2f}" for metric in (precision, recall)]
whole = [f"{np.mean(metric(right, rankings[:, :1])):.2f}" for metric in (precision, recall)]
parts.append(f"a right one on top always: P@1 {means[0]}, recall@1 {means[1]}; cut by hand {' '.join(whole)}")
print(f"ir-metrics {importlib.metadata.version('ir-metrics')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ir-metrics 0.1.6: right [4, 7]: P R RR nDCG at 1 0 0 0 nan; right [7, 4]: P R RR nDCG at 1 1 1 1 1;\
 one of six found: recall@1 1.00; a right one on top always: P@1 0.19, recall@1 0.19; cut by hand 1.00 0.20"
