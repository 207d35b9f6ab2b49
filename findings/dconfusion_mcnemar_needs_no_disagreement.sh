#!/usr/bin/env bash
# Two equally good classifiers differ significantly in 81 of 100 test sets in dconfusion's McNemar test at alpha=.05.
#
# Guess before the run: `mcnemar_test` of two models that are right equally often finds a difference in about 5 of 100
# test sets; it needs to know on which texts they disagree, so that two tables are not enough and it says so.
# Seen: dconfusion 1.1.1. It takes the difference of the numbers of right answers for all disagreements: 7 more right
# answers are always significant, p .023, of 200 texts or of 100,000, and with 10 or 3,000 texts in dispute. For 1,000
# texts and two models that are each right with .8 and independent of each other it finds one in 81 of 100 test sets,
# the exact test in 2. Two models that are right equally often "make identical predictions", also if no prediction is
# the same. Its Brier score is the error rate, and its G-mean that of precision and recall.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    dconfusion==1.1.1 numpy==2.4.6 scipy==1.17.1 matplotlib==3.11.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
import scipy.stats
from dconfusion import DConfusion

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)


def table(labels, right):
    predictions = np.where(right, labels, 1 - labels)
    return DConfusion.from_predictions(labels.tolist(), predictions.tolist())


found = real = 0
for _ in range(100):
    labels = np.arange(1000) % 2
    first, second = rng.uniform(size=(2, 1000)) < 0.8
    found += table(labels, first).mcnemar_test(table(labels, second))["p_value"] < 0.05
    better, worse = int((first & ~second).sum()), int((second & ~first).sum())
    real += scipy.stats.binomtest(better, better + worse).pvalue < 0.05
sizes = []
for size in (200, 100000):
    labels = np.arange(size) % 2
    p_value = table(labels, np.arange(size) < size // 2 + 7).mcnemar_test(table(labels, np.arange(size) < size // 2))
    sizes.append(f"{p_value['p_value']:.3f} of {size}")
labels = np.arange(200) % 2
half = table(labels, labels == 0).mcnemar_test(table(labels, labels == 1))
print(
    f"dconfusion {importlib.metadata.version('dconfusion')}: {found} of 100 differ, by the exact test {real};",
    f"7 more right answers p {', '.join(sizes)}; opposite models: {half['interpretation'].split('.')[0]}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dconfusion 1.1.1: 81 of 100 differ, by the exact test 2; 7 more right answers p 0.023 of 200, 0.023 of\
 100000; opposite models: The classifiers make identical predictions"
