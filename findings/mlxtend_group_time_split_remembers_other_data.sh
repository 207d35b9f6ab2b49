#!/usr/bin/env bash
# mlxtend's split by time remembers the first corpus that it was given: of a longer one it leaves the first year out.
#
# Guess before the run: a `GroupTimeSeriesSplit(test_size=1, n_splits=2, window_type="expanding")` trains on all months
# before the test month, of whatever corpus it is given, as splits of scikit-learn do, which keep nothing.
# Seen: mlxtend 0.25.0. Of 12 months it trains on 1 to 10, then 1 to 11. The same object, given 24 months, trains on 13
# to 22 and 13 to 23; a new one on 1 to 22 and 1 to 23. The length that fits the first corpus is kept as if the user had
# asked for it. Half of the texts are never trained on, and a BERT seems worse with more data. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mlxtend.evaluate import GroupTimeSeriesSplit


def months(cv, count):
    """Months that are trained on and tested on, of a corpus with ten texts a month."""
    groups = np.repeat(np.arange(1, count + 1), 10)
    parts = []
    for train, test in cv.split(np.zeros((len(groups), 1)), groups=groups):
        parts.append(f"{groups[train].min()}-{groups[train].max()} then {groups[test].min()}")
    return ", ".join(parts)


def new():
    return GroupTimeSeriesSplit(test_size=1, n_splits=2, window_type="expanding")


used = new()
parts = [f"12 months {months(used, 12)}", f"24 months by the same object {months(used, 24)}"]
parts.append(f"by a new one {months(new(), 24)}")
print(f"mlxtend {importlib.metadata.version('mlxtend')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0: 12 months 1-10 then 11, 1-11 then 12; 24 months by the same object 13-22 then 23,\
 13-23 then 24; by a new one 1-22 then 23, 1-23 then 24"
