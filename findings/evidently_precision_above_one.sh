#!/usr/bin/env bash
# Equal scores make precision@5 2.00 and nDCG@5 1.31 in evidently, and a best ranking whose first two tie has 1.23.
#
# Guess before the run: the first five documents are five, also where a re-ranker's probabilities are equal, as sure
# ones are in float32, so that precision and nDCG are at most 1; values stand beside the rank that they are of.
# Seen: evidently 0.7.23 with pandas 2.3.3. Equal scores share their mean rank, rounded down: ten are all at rank 5,
# none is before, and precision@5 is 10 of 5. With a reciprocal rank of .20 and nDCG of 1.31 the same ranking is worst
# and better than perfect. Two that tie first are both at rank 1: nDCG 1.23. And the columns of nDCG and MRR call the
# first rank 2.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    evidently==0.7.23 pandas==2.3.3 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
from evidently import DataDefinition, Dataset, Recsys, Report
from evidently.metrics import MRR, NDCG, PrecisionTopK

ranking = [Recsys(user_id="query", item_id="document", target="right", prediction="score")]


def values(labels, scores):
    names = [str(number) for number in range(len(labels))]
    table = pd.DataFrame(dict(query="a", document=names, right=labels, score=scores))
    data = Dataset.from_pandas(table, data_definition=DataDefinition(ranking=ranking))
    result = Report([metric(k=5) for metric in (PrecisionTopK, NDCG, MRR)]).run(data, None).dict()["metrics"]
    shift = [result[number]["value"]["rank"][0] for number in range(3)]
    return [f"{part['value']['value'].get(4, float('nan')):.2f}" for part in result], shift


parts = []
cases = {
    "all right, scores apart": ([1] * 10, [1 - number / 100 for number in range(10)]),
    "all right, scores equal": ([1] * 10, [1.0] * 10),
    "one right of ten, equal": ([1] + [0] * 9, [1.0] * 10),
    "best, two equal first": ([1, 1] + [0] * 8, [1.0, 1.0] + [0.5 - number / 100 for number in range(8)]),
}
for name, case in cases.items():
    numbers, shift = values(*case)
    parts.append(f"{name} {' '.join(numbers)}")
print(
    f"evidently {importlib.metadata.version('evidently')}, precision, nDCG, MRR at 5: {'; '.join(parts)};",
    f"the first is called rank {shift}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evidently 0.7.23, precision, nDCG, MRR at 5: all right, scores apart 1.00 1.00 1.00; all right, scores\
 equal 2.00 1.31 0.20; one right of ten, equal 0.20 0.39 0.20; best, two equal first 0.40 1.23 1.00;\
 the first is called rank [1, 2, 2]"
