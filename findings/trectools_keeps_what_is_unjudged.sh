#!/usr/bin/env bash
# `removeUnjudged=True` of trectools changes nothing in the reciprocal rank and in R-precision: unjudged texts count.
#
# Guess before the run: with removeUnjudged=True documents that nobody has judged are left out, so that a run with two
# unjudged documents before the right one has a reciprocal rank and an R-precision of 1.00, as its nDCG is.
# Seen: trectools 0.0.50. nDCG becomes 1.00, and the precision of the first .00 becomes 1.00. The reciprocal rank stays
# .33 and the R-precision .00: the judged rows are chosen, and then the whole run is read again. A BERT that finds
# passages which no system of the pool has found is compared by these two as if all of them were wrong.
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


rows = [("1", "new", 3.0), ("1", "newer", 2.0), ("1", "right", 1.0), ("1", "wrong", 0.5)]
result = evaluation(rows, {"1": {"right": 1, "wrong": 0}})
words = []
for name, function, depth in (
    ("nDCG", result.get_ndcg, 10),
    ("P@1", result.get_precision, 1),
    ("reciprocal rank", result.get_reciprocal_rank, 10),
    ("R-precision", result.get_rprec, 10),
):
    values = [function(depth=depth, removeUnjudged=remove) for remove in (False, True)]
    words.append(f"{name} {values[0]:.2f} and {values[1]:.2f}")
hand = evaluation(rows[2:], {"1": {"right": 1, "wrong": 0}})
words.append(f"by hand {hand.get_reciprocal_rank():.2f} and {hand.get_rprec():.2f}")
print(f"trectools {importlib.metadata.version('trectools')}, all documents and judged ones: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "trectools 0.0.50, all documents and judged ones: nDCG 0.50 and 1.00, P@1 0.00 and 1.00, reciprocal\
 rank 0.33 and 0.33, R-precision 0.00 and 0.00, by hand 1.00 and 1.00"
