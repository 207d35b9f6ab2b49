#!/usr/bin/env bash
# nDCG and RBP of trectools take documents in the order of the rows, not of their scores: a perfect run has .50.
#
# Guess before the run: the rows of a data frame may be in any order, as in trec_eval, for each has a score: a run whose
# best score is that of the right document has 1.00 in each measure.
# Seen: trectools 0.0.50. If the right document stands last in the frame it is so for MAP, the reciprocal rank and
# bpref, which sort by the score, and nDCG is .50 and RBP .13 instead of .20, for `trec_eval=True`, the default, too.
# Scores of a BERT that come in the order of the documents, as a batch of passages gives them, have an nDCG that says
# nothing of the scores: it is the same for all of them.
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


judgements = {"1": {"a": 0, "b": 0, "c": 1}}
words = []
for name, scores in {"right": (1.0, 2.0, 3.0), "upside down": (3.0, 2.0, 1.0)}.items():
    rows = [("1", document, score) for document, score in zip("abc", scores)]
    for order in (rows, rows[::-1]):
        result = evaluation(order, judgements)
        values = [result.get_ndcg(depth=10), result.get_rbp()[0], result.get_map(), result.get_reciprocal_rank()]
        place = "first" if order[0][1] == "c" else "last"
        words.append(f"{name}, right row {place} {' '.join(f'{value:.2f}' for value in values)}")
    words.append(f"trec_eval nDCG {trec_eval(rows, judgements, 'ndcg'):.2f}")
print(f"trectools {importlib.metadata.version('trectools')}, nDCG, RBP, MAP and RR: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "trectools 0.0.50, nDCG, RBP, MAP and RR: right, right row last 0.50 0.13 1.00 1.00; right, right row\
 first 1.00 0.20 1.00 1.00; trec_eval nDCG 1.00; upside down, right row last 0.50 0.13 0.33 0.33; upside down, right\
 row first 1.00 0.20 0.33 0.33; trec_eval nDCG 0.50"
