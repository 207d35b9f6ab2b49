#!/usr/bin/env bash
# In unitxt a search that finds five passages of the right document has a recall of 5.00, and one result has P@10 1.00.
#
# Guess before the run: `RetrievalAtK` and `MAP`, in the "Range: [0, 1]", are trec_eval's where a document is found by
# several of its passages, as BERT re-rankers find long ones, and where a search returns fewer than k.
# Seen: unitxt 1.26.10, ir_measures 0.4.3. Ids of what is right are made unique, those of what was found are not: each
# passage counts, recall@5 is 5.00. Precision@10 of one right result is that at 1, 1.00 for trec_eval's .10; and average
# precision is divided by what was found, not by what is right: 1.00 for .25 of the first of four right documents. A
# threshold that keeps the surest result only is the best for both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    unitxt==1.26.10 datasets==5.2.0 evaluate==0.4.6 ir_measures==0.4.3 pytrec-eval-terrier==0.5.11 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import ir_measures
from ir_measures import AP, P, R
from unitxt.metrics import MAP, RetrievalAtK
from unitxt.test_utils.metrics import apply_metric

searches = {"five passages": (["a"] * 5, ["a"]), "one result": (["a"], ["a", "b", "c", "d"])}
parts = []
for name, (found, right) in searches.items():
    scores = {}
    for metric in (RetrievalAtK(k_list=[5, 10]), MAP()):
        output = apply_metric(metric, predictions=[found], references=[[right]], task_data=[{}])
        scores |= output[0]["score"]["instance"]
    ours = scores["recall_at_5"], scores["precision_at_10"], scores["map"]
    run = {"query": {document: 1.0 for document in found}}
    others = ir_measures.calc_aggregate([R @ 5, P @ 10, AP], {"query": dict.fromkeys(right, 1)}, run)
    values = ", ".join(f"{value:.2f} {others[key]:.2f}" for key, value in zip((R @ 5, P @ 10, AP), ours, strict=True))
    parts.append(f"{name} {values}")
print(f"R@5, P@10, AP of unitxt {importlib.metadata.version('unitxt')} and ir_measures: {'; '.join(parts)}")
PYTHON
seen=$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "R@5, P@10, AP of unitxt 1.26.10 and ir_measures: five passages 5.00 1.00, 1.00 0.10, 1.00 1.00; one\
 result 0.25 0.25, 1.00 0.10, 1.00 0.25"
