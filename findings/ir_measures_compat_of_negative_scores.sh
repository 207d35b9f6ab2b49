#!/usr/bin/env bash
# The compatibility of a ranking falls from .79 to .05 in ir-measures if its scores are negative, as logits are.
#
# Guess before the run: `Compat` compares the order of documents with the ideal order that is nearest to it; scores of
# -5 to -9 have the same order as scores of 5 to 1.
# Seen: ir-measures 0.4.3. Ten documents are equally relevant, and a ranking finds four of them in the first five
# places. Its Compat is .793 with positive scores and .045 with the same scores less 10; nDCG is .539 for both. Relevant
# documents that were not found count as scored 0, and stand before all that were found with a negative score. So
# cross-encoders with logits, and log-likelihoods, lose to BM25 by this measure alone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    ir-measures==0.4.3 numpy==2.4.6 pandas==2.3.3
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import ir_measures
from ir_measures import Compat, nDCG

right = [f"r{number}" for number in range(10)]
qrels = {"q": {name: 1 for name in right} | {"w0": 0}}
names = ["r9", "r8", "w0", "r7", "r6"]
parts = []
for shift in (0.0, -10.0):
    run = {"q": {name: 5.0 - place + shift for place, name in enumerate(names)}}
    values = ir_measures.calc_aggregate([Compat(p=0.8), nDCG @ 10], qrels, run)
    parts.append(
        f"scores {5 + shift:.0f} to {1 + shift:.0f}: Compat {values[Compat(p=0.8)]:.3f}, nDCG {values[nDCG @ 10]:.3f}"
    )
print(f"ir_measures {importlib.metadata.version('ir-measures')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "ir_measures 0.4.3: scores 5 to 1: Compat 0.793, nDCG 0.539; scores -5 to -9: Compat 0.045, nDCG 0.539"
