#!/usr/bin/env bash
# Of 100 samples of labels from one source evidently's chi-square test, its default, finds a drift in 70 at alpha=.05.
#
# Guess before the run: `ValueDrift` of a column of labels, which takes "chisquare" by default for such sizes, compares
# two samples, and finds a drift in 5 of 100 pairs where nothing has changed.
# Seen: evidently 0.7.23. It is a test of one sample: the old labels count as exact shares, without any chance of their
# own. With 300 old and 300 new labels it finds a drift in 34 of 100 pairs for 5 classes and in 70 for 20; with 1,500
# new ones in all 100. The test of two samples, `chi2_contingency` of SciPy, finds 5, 5 and 4. The more is predicted,
# the surer is the alarm that the classes of a BERT have drifted.
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
definition = DataDefinition(categorical_columns=["label"])


def draw(classes, size):
    return pd.DataFrame({"label": [f"c{number:02}" for number in rng.integers(classes, size=size)]})


def drift(current, reference, method="chisquare"):
    data = [Dataset.from_pandas(frame, data_definition=definition) for frame in (current, reference)]
    result = Report([ValueDrift(column="label", method=method)]).run(*data)
    return float(result.dict()["metrics"][0]["value"])


parts = []
for classes, size, old in ((5, 300, 300), (20, 300, 300), (20, 1500, 300)):
    found, right = 0, 0
    for _ in range(100):
        current, reference = draw(classes, size), draw(classes, old)
        found += drift(current, reference) < 0.05
        assert drift(current, reference, None) == drift(current, reference)
        table = pd.crosstab(
            np.r_[np.zeros(size), np.ones(old)], np.r_[current["label"].to_numpy(), reference["label"].to_numpy()]
        )
        right += stats.chi2_contingency(table).pvalue < 0.05
    parts.append(f"{classes} classes, {size} new and {old} old: {found} drifts, of two samples {right}")
print(f"evidently {importlib.metadata.version('evidently')}, 100 pairs of one source: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evidently 0.7.23, 100 pairs of one source: 5 classes, 300 new and 300 old: 34 drifts, of two samples\
 5; 20 classes, 300 new and 300 old: 70 drifts, of two samples 5; 20 classes, 1500 new and 300 old: 100 drifts, of two\
 samples 4"
