#!/usr/bin/env bash
# pytrec_eval compares scores in float32: of a sure re-ranker's probabilities the names of the documents make the order.
#
# Guess before the run: the scores are Python's floats, so that a document with a sigmoid of 18.5 stands before one
# with that of 18.0, and the measures are those of the logits.
# Seen: pytrec_eval 0.5.11 (terrier), no error. Both probabilities, 0.99999999076 and 0.99999998477, are 1 in float32.
# Ties are ordered by the names of the documents, the last first: if the relevant one is "a", the reciprocal rank is
# 0.5 and nDCG@1 is 0; if it is "b", both are 1. With the logits, or 10 and 9.5, they are 1 for either name. ir-measures
# 0.4.3, which asks it, has the same; ranx 0.3.21 has 1 for both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pytrec-eval-terrier==0.5.11 ranx==0.3.21 ir-measures==0.4.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math

import ir_measures
import pytrec_eval
import ranx


def sigmoid(logit):
    return 1 / (1 + math.exp(-logit))


def score(relevant, best, second):
    """Returns reciprocal ranks of the relevant document, which has the best score: pytrec_eval, ir-measures, ranx."""
    other = "b" if relevant == "a" else "a"
    right, found = {"q": {relevant: 1}}, {"q": {relevant: best, other: second}}
    measures = pytrec_eval.RelevanceEvaluator(right, {"recip_rank"}).evaluate(found)["q"]
    theirs = ir_measures.calc_aggregate([ir_measures.RR], right, found)[ir_measures.RR]
    last = ranx.evaluate(ranx.Qrels(right), ranx.Run(found), "mrr")
    return " ".join(f"{float(one):g}" for one in (measures["recip_rank"], theirs, last))


words = []
for name, scores in (
    ("logits", (18.5, 18.0)),
    ("sigmoid", (sigmoid(18.5), sigmoid(18.0))),
    ("sigmoid of 10 and 9.5", (sigmoid(10), sigmoid(9.5))),
):
    words.append(f"{name}: {', '.join(f'{document} {score(document, *scores)}' for document in 'ab')}")
version = importlib.metadata.version("pytrec-eval-terrier")
print(f"pytrec_eval {version}, ir-measures, ranx: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pytrec_eval 0.5.11, ir-measures, ranx: logits: a 1 1 1, b 1 1 1; sigmoid: a 0.5 0.5 1, b 1 1 1;\
 sigmoid of 10 and 9.5: a 1 1 1, b 1 1 1"
