#!/usr/bin/env bash
# A query whose judged documents are all right has a bpref of 0 in trectools, however good the run: trec_eval has 1.
#
# Guess before the run: bpref counts how many wrong documents stand before each right one; where none is known to be
# wrong it is the share of the right ones that are found, as in trec_eval.
# Seen: trectools 0.0.50. It is 0, because 0 is divided by 0, and the NaN is left out of the sum. Of three queries,
# found perfectly, one of which has no wrong document, the mean is .67 instead of 1.00. Collections whose judgements are
# right passages alone, as MS MARCO's and most training data, have a bpref of 0 for every run.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    trectools==0.0.50 pytrec-eval-terrier==0.5.11 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
import pytrec_eval
from trectools import TrecEval, TrecQrel, TrecRun


def evaluation(rows, judgements):
    """Of rows (query, document, score) and of judgements {query: {document: relevance}}."""
    run, qrels = TrecRun(None), TrecQrel()
    ranks = [[query, "Q0", document, place + 1, score, "x"] for place, (query, document, score) in enumerate(rows)]
    run.load_run_from_dataframe(pd.DataFrame(ranks, columns=["query", "q0", "docid", "rank", "score", "system"]))
    labels = [[query, 0, document, rel] for query, docs in judgements.items() for document, rel in docs.items()]
    qrels.qrels_data = pd.DataFrame(labels, columns=["query", "q0", "docid", "rel"])
    return TrecEval(run, qrels)


def trec_eval(rows, judgements, measure):
    """What trec_eval itself has, the mean over the queries."""
    run = {query: {} for query, _, _ in rows}
    for query, document, score in rows:
        run[query][document] = score
    results = pytrec_eval.RelevanceEvaluator(judgements, {measure}).evaluate(run)
    return sum(result[measure] for result in results.values()) / len(results)


words = []
for name, judgements in {
    "no wrong one": {"1": {"a": 1, "b": 1}},
    "one of three without": {"1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 0}, "3": {"a": 1, "b": 0}},
}.items():
    rows = [(query, document, score) for query in judgements for document, score in (("a", 2.0), ("b", 1.0))]
    value = evaluation(rows, judgements).get_bpref()
    words.append(f"{name} {value:.2f} (trec_eval {trec_eval(rows, judgements, 'bpref'):.2f})")
rows = [("1", "a", 2.0), ("1", "c", 1.0)]
judgements = {"1": {"a": 1, "b": 1}}
value = evaluation(rows, judgements).get_bpref()
words.append(f"half of them found {value:.2f} ({trec_eval(rows, judgements, 'bpref'):.2f})")
print(f"trectools {importlib.metadata.version('trectools')}, bpref: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "trectools 0.0.50, bpref: no wrong one 0.00 (trec_eval 1.00), one of three without 0.67 (trec_eval\
 1.00), half of them found 0.00 (0.50)"
