#!/usr/bin/env bash
# Two models that answer all texts alike differ with a p of 0.00 in statsmodels' McNemar test, as surely as can be.
#
# Guess before the run: where two models are right and wrong about the same texts, `mcnemar(table, exact=False)` has a p
# of 1, as with `exact=True`, or NaN.
# Seen: statsmodels 0.15.0. The p is 0.00, the statistic infinite; exactly it is 1.00. With one text that one of them
# has better it is 1.00, as it should be. The correction for continuity is the square of the difference less 1, also
# where the difference is 0: 1 is divided by 0 texts, which a warning of NumPy says, of a division. For 5 better answers
# on either side the p is .75 for the same reason, and exactly 1.00. A table of all pairs of BERT's checkpoints marks
# those as different that are equal.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    statsmodels==0.15.0 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
from statsmodels.stats.contingency_tables import mcnemar

parts = []
for name, table in (
    ("the same answers", [[90, 0], [0, 10]]),
    ("one answer better", [[89, 1], [0, 10]]),
    ("5 and 5 answers better", [[80, 5], [5, 10]]),
):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = mcnemar(np.array(table), exact=False)
    exact = mcnemar(np.array(table), exact=True)
    parts.append(f"{name}: {seen.pvalue:.2f} (exactly {exact.pvalue:.2f}, warnings {len(caught)})")
print(f"statsmodels {importlib.metadata.version('statsmodels')}, p of two models with {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "statsmodels 0.15.0, p of two models with the same answers: 0.00 (exactly 1.00, warnings 1); one answer\
 better: 1.00 (exactly 1.00, warnings 0); 5 and 5 answers better: 0.75 (exactly 1.00, warnings 0)"
