#!/usr/bin/env bash
# Scores that have fallen by five deviations have a p of 1.000 in the Mann-Whitney test of evidently: it sees no fall.
#
# Guess before the run: `ValueDrift(method="mannw")` is small wherever scores have moved; its code calls the value "the
# two-tailed p-value", and its t test beside it has two sides.
# Seen: evidently 0.7.23. For 500 scores that have risen by half a deviation p is .000; for scores that have fallen by
# .5 or by 5 it is 1.000, where SciPy's test of two sides and evidently's own t test have .000. A model whose confidence
# falls, which is what one watches for, never drifts by this test.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    evidently==0.7.23 pandas==2.3.3 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
from evidently import DataDefinition, Dataset, Report
from evidently.metrics import ValueDrift
from scipy import stats

rng = np.random.default_rng(0)
definition = DataDefinition(numerical_columns=["score"])
reference = pd.DataFrame({"score": rng.normal(size=500)})


def drift(method, current):
    data = [Dataset.from_pandas(frame, data_definition=definition) for frame in (current, reference)]
    result = Report([ValueDrift(column="score", method=method)]).run(*data)
    return float(result.dict()["metrics"][0]["value"])


parts = []
for name, shift in (("risen by .5", 0.5), ("fallen by .5", -0.5), ("fallen by 5", -5.0)):
    current = pd.DataFrame({"score": rng.normal(size=500) + shift})
    own = stats.mannwhitneyu(reference["score"], current["score"]).pvalue
    parts.append(f"{name}: mannw {drift('mannw', current):.3f} of {own:.3f}, t_test {drift('t_test', current):.3f}")
print(f"evidently {importlib.metadata.version('evidently')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evidently 0.7.23: risen by .5: mannw 0.000 of 0.000, t_test 0.000; fallen by .5: mannw 1.000 of 0.000,\
 t_test 0.000; fallen by 5: mannw 1.000 of 0.000, t_test 0.000"
