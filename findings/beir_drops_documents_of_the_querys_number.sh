#!/usr/bin/env bash
# BEIR scores a perfect ranking nDCG 0 and MRR 1 if queries and documents are both numbered: it drops equal numbers.
#
# Guess before the run: ids of queries and ids of documents are names in two tables, so that a ranking with the right
# document first has 1 for every measure, whatever they are called.
# Seen: beir 2.2.0. "evaluate" leaves documents out whose id is that of the query, by default, for sets in which queries
# are documents, too, and says so at level INFO of its log, which isn't shown: five questions and their five paragraphs,
# both numbered from 0, have nDCG 0. MRR ("evaluate_custom") of the same results is 1, and 0 after a call of "evaluate",
# which has taken the documents out of the caller's results. mteb 2.26.24, whose code comes from it, leaves nothing out
# by default.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    beir==2.2.0 pytrec-eval-terrier==0.5.11 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from beir.retrieval.evaluation import EvaluateRetrieval

words = []
for prefix in ("", "question "):
    right = {f"{prefix}{row}": {str(row): 1} for row in range(5)}
    found = {query: {str(row): float(str(row) in answers) for row in range(5)} for query, answers in right.items()}
    before = EvaluateRetrieval.evaluate_custom(right, found, [1], "mrr")["MRR@1"]
    ndcg = EvaluateRetrieval.evaluate(right, found, [1])[0]["NDCG@1"]
    after = EvaluateRetrieval.evaluate_custom(right, found, [1], "mrr")["MRR@1"]
    words.append(f"{prefix}0: MRR {before:g}, nDCG {ndcg:g}, MRR {after:g}")
print(f"beir {importlib.metadata.version('beir')}; {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "beir 2.2.0; 0: MRR 1, nDCG 0, MRR 0; question 0: MRR 1, nDCG 1, MRR 1"
