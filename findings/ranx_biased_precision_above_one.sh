#!/usr/bin/env bash
# ranx's rank-biased precision is up to 3 where documents have grades up to 3, though its relevance is "either 0 or 1".
#
# Guess before the run: documents with a grade of at least `rel_lvl` are relevant and count 1, as the page of
# `rank_biased_precision` says, so that a perfect ranking has at most 1.
# Seen: ranx 0.3.21. The grade itself takes the place of the 0 or 1: a ranking with a document of grade 3 on top has
# more than one with three of grade 1. Average precision, reciprocal rank and the others read `rel_lvl` as they say.
# Its bpref is NaN for a query without a judged document that is not relevant, as all of MS MARCO's, and with it the
# mean over all queries; trec_eval has a number.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ranx==0.3.21 pytrec-eval-terrier==0.5.11 numpy==2.2.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pytrec_eval
from ranx import Qrels, Run, evaluate

run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}


def both(grades):
    judged = {"q1": dict(zip(("d1", "d2", "d3"), grades))}
    found = evaluate(Qrels(judged), Run(run), ["rbp.50", "bpref"])
    biased = 0.5 * sum((grade > 0) * 0.5**place for place, grade in enumerate(grades))
    bpref = pytrec_eval.RelevanceEvaluator(judged, {"bpref"}).evaluate(run)["q1"]["bpref"]
    return f"RBP {found['rbp.50']:.3f} ({biased:.3f}), bpref {found['bpref']:.1f} ({bpref:.1f})"


print(
    f"ranx {importlib.metadata.version('ranx')}:",
    "; ".join(f"grades {grades} {both(grades)}" for grades in ((1, 1, 1), (3, 2, 1), (3, 0, 0))),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ranx 0.3.21: grades (1, 1, 1) RBP 0.875 (0.875), bpref nan (1.0);\
 grades (3, 2, 1) RBP 2.125 (0.875), bpref nan (1.0); grades (3, 0, 0) RBP 1.500 (0.500), bpref 1.0 (1.0)"
