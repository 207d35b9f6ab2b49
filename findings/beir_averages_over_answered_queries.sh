#!/usr/bin/env bash
# BEIR's nDCG and recall are means over the queries that got results, its MRR and accuracy over all: 1.00 beside 0.50.
#
# Guess before the run: a query without results counts 0 in all measures of `EvaluateRetrieval`, as in ir_measures and
# in trec_eval's -c, or in none.
# Seen: beir 2.2.0, ir_measures 0.4.3. Of four queries two find their document, first and second. Recall@10 is 1.00,
# Accuracy@10, the share of queries with a hit, 0.50; MRR@10 is .38 and MAP@10, the same for one document each, .75.
# A re-ranker with a threshold, or a search by words that finds nothing, is better for every query it gives up.
# `evaluate` also leaves out documents with the id of their query, which is meant for sets where queries are documents:
# of two lists that are both numbered from 0 the right answers go, MAP is .00 and MRR 1.00, and the run that the caller
# holds has lost them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
# The evaluation needs nothing else of what beir asks for.
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ir_measures==0.4.3 pytrec-eval-terrier==0.5.11 numpy==2.4.6 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    beir==2.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import ir_measures
from beir.retrieval.evaluation import EvaluateRetrieval
from ir_measures import AP, R, RR, Success


def scores(right, run):
    _, average_precision, recall, _ = EvaluateRetrieval.evaluate(right, run, [10])
    mrr = EvaluateRetrieval.evaluate_custom(right, original, [10], "mrr")
    accuracy = EvaluateRetrieval.evaluate_custom(right, original, [10], "accuracy")
    values = {**recall, **accuracy, **average_precision, **mrr}
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


right = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"d": 1}}
run = {"q1": {"a": 1.0, "b": 0.5}, "q2": {"c": 0.9, "b": 0.8}}
original = {query: dict(found) for query, found in run.items()}
theirs = scores(right, run)
others = ir_measures.calc_aggregate([R @ 10, Success @ 10, AP @ 10, RR @ 10], right, run)
others = ", ".join(f"{measure} {others[measure]:.2f}" for measure in (R @ 10, Success @ 10, AP @ 10, RR @ 10))
right = {"0": {"0": 1}, "1": {"1": 1}}
run = {"0": {"0": 0.9, "1": 0.1}, "1": {"1": 0.9, "0": 0.1}}
original = {query: dict(found) for query, found in run.items()}
numbered = scores(right, run)
print(f"beir {importlib.metadata.version('beir')}: {theirs}; ir_measures: {others}; numbered: {numbered}, left {run}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "beir 2.2.0: Recall@10 1.00, Accuracy@10 0.50, MAP@10 0.75, MRR@10 0.38; ir_measures: R@10 0.50, Success@10\
 0.50, AP@10 0.38, RR@10 0.38; numbered: Recall@10 0.00, Accuracy@10 1.00, MAP@10 0.00, MRR@10 1.00, left {'0':\
 {'1': 0.1}, '1': {'0': 0.1}}"
