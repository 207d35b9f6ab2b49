#!/usr/bin/env bash
# cwl_eval's AP is 1.00 if one of ten relevant documents is found, at the first place, and .50 if all ten are found.
#
# Guess before the run: `APCWLMetric` divides by the number of relevant documents in the judgments, as its code's
# documentation says ("corrected to use the R, the total number of relevant items"), so that it is trec_eval's average
# precision; NDCG of a perfect ranking is 1.
# Seen: cwl-eval 1.0.12. The number R that the ranking knows is not read: the weights are normalized over the relevant
# documents that were found, as in the measure TrAP beside it, so that finding less is better. NDCG@10 divides by the
# sum of the ten discounts, not by the ideal order's: a query with three relevant documents, all in front, has .47.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    cwl-eval==1.0.12
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from cwl.ruler.measures.cwl_ap import APCWLMetric
from cwl.ruler.measures.cwl_dcg import NDCGCWLMetric
from cwl.ruler.ranking import Ranking
from sklearn.metrics import ndcg_score

cases = {
    "1 of 10 is found, first": ([1], 10),
    "2 of 10, at 1 and 3": ([1, 3], 10),
    "10 of 10, at 2, 4 to 20": (list(range(2, 21, 2)), 10),
    "3 of 3, first": ([1, 2, 3], 3),
}
found = []
for name, (places, total) in cases.items():
    gains = np.zeros(100)
    gains[np.array(places) - 1] = 1.0
    ranking = Ranking("1", gains, np.ones(100), max_n=100)
    ranking.total_qrel_rels = ranking.total_qrel_gain = float(total)
    right = sum((number + 1) / place for number, place in enumerate(places)) / total
    everything = np.concatenate([gains, np.ones(total - len(places))])
    order = np.concatenate([np.arange(200, 100, -1), np.zeros(total - len(places))])
    ndcg = ndcg_score(everything[None], order[None], k=10)
    scores = [metric.measure(ranking) for metric in (APCWLMetric(), NDCGCWLMetric(10))]
    found.append(f"{name}: AP {scores[0]:.2f} ({right:.2f}), NDCG-k@10 {scores[1]:.2f} ({ndcg:.2f})")
print(f"cwl-eval {importlib.metadata.version('cwl-eval')}:", "; ".join(found))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "cwl-eval 1.0.12: 1 of 10 is found, first: AP 1.00 (0.10), NDCG-k@10 0.22 (0.22); 2 of 10, at 1 and 3:\
 AP 0.83 (0.17), NDCG-k@10 0.33 (0.33); 10 of 10, at 2, 4 to 20: AP 0.50 (0.50), NDCG-k@10 0.45 (0.45);\
 3 of 3, first: AP 1.00 (1.00), NDCG-k@10 0.47 (1.00)"
