#!/usr/bin/env bash
# Of documents with equal scores trectools' nDCG takes the first one of the alphabet and its MAP the last one.
#
# Guess before the run: `get_ndcg()` is trec_eval's, since `trec_eval=True`, its default, is documented as "True if
# result should be the same as trec_eval", as in `get_map()` and `get_reciprocal_rank()`.
# Seen: trectools 0.0.50, with pytrec-eval-terrier 0.5.11, which is trec_eval itself. A query has two documents of the
# same score, "a" is relevant: MAP and reciprocal rank are .5, as trec_eval's, which puts "b" first; nDCG is 1, for
# "a" first, where trec_eval has .63. A run is sorted by ascending ids while it is read; get_map sorts again by
# descending ones, and get_ndcg does not. On 11 queries with ties among eleven scores nDCG@10 was .129, trec_eval's
# .145. Scores of bfloat16 and of small integers have many ties.
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
import sys

import pytrec_eval
from trectools import TrecEval, TrecQrel, TrecRun

folder = sys.argv[1]
with open(f"{folder}/qrels", "w") as file:
    file.write("1 0 a 1\n")
with open(f"{folder}/run", "w") as file:
    file.write("1 Q0 b 1 7.5 system\n1 Q0 a 2 7.5 system\n")
found = TrecEval(TrecRun(f"{folder}/run"), TrecQrel(f"{folder}/qrels"))
evaluator = pytrec_eval.RelevanceEvaluator({"1": {"a": 1}}, {"map", "ndcg", "recip_rank"})
expected = evaluator.evaluate({"1": {"a": 7.5, "b": 7.5}})["1"]
print(
    f"trectools {importlib.metadata.version('trectools')}: MAP {found.get_map():.2f}, reciprocal rank "
    f"{found.get_reciprocal_rank():.2f}, nDCG {found.get_ndcg():.2f}; trec_eval {expected['map']:.2f}, "
    f"{expected['recip_rank']:.2f}, {expected['ndcg']:.2f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "trectools 0.0.50: MAP 0.50, reciprocal rank 0.50, nDCG 1.00; trec_eval 0.50, 0.50, 0.63"
