#!/usr/bin/env bash
# Where parts of one document are found, average precision is 2.50 and nDCG 1.81 in LlamaIndex: each part is a new hit.
#
# Guess before the run: a BERT retriever returns parts of documents, and `expected_ids` are those of documents. A
# document that comes twice counts once, as precision and recall of the same package have it, or the metric complains.
# Seen: llama-index-core 0.14.25. If two documents are expected, the best ranking has an AP and an nDCG of 1.00. Five
# parts of the first one alone have an AP of 2.50, an nDCG of 1.81 and a granular hit rate of 2.50, though half of what
# is expected is missing; a wrong one and four parts of the one right document have 2.72, 1.95 and 4.00. So a retriever
# that returns more parts of the same document wins.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    llama-index-core==0.14.25 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from llama_index.core.evaluation.retrieval import metrics

names = {
    "AP": metrics.AveragePrecision(),
    "nDCG": metrics.NDCG(),
    "granular hit rate": metrics.HitRate(use_granular_hit_rate=True),
    "precision": metrics.Precision(),
}
cases = {
    "two of two": (["a", "b"], ["a", "b", "c", "d", "e"]),
    "five parts of one": (["a", "b"], ["a", "a", "a", "a", "a"]),
    "parts first": (["a"], ["x", "a", "a", "a", "a"]),
}
parts = []
for name, (expected, retrieved) in cases.items():
    scores = []
    for key, metric in names.items():
        result = metric.compute(expected_ids=expected, retrieved_ids=retrieved)
        scores.append(f"{key} {result.score:.2f}")
    parts.append(f"{name}: {', '.join(scores)}")
print(f"llama_index.core {importlib.metadata.version('llama-index-core')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "llama_index.core 0.14.25: two of two: AP 1.00, nDCG 1.00, granular hit rate 1.00, precision 0.40; five\
 parts of one: AP 2.50, nDCG 1.81, granular hit rate 2.50, precision 1.00; parts first: AP 2.72, nDCG 1.95, granular\
 hit rate 4.00, precision 0.50"
