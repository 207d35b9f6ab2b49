#!/usr/bin/env bash
# aif360's "smoothed" differential fairness is infinite for a classifier that says yes to all five texts of one group.
#
# Guess before the run: `smoothed_edf` of `aif360.sklearn` adds to each group half a text of each of two labels, so that
# it is finite where a small group has one answer only; it is that of `BinaryLabelDatasetMetric` in the same package.
# Seen: aif360 0.6.1. It counts the labels that are in the group, not those that there are: a group whose answers are
# all alike has one, and gets a whole text of it, so that its rate stays 1 and the logarithm of the other rate is
# infinite. Smoothing fails where it is needed. With 1, 10 and 100 texts added it is infinite, where the other class has
# 1.79, .41 and .05; if one answer of the five differs both are alike. `df_bias_amplification` is infinite, too. Of a
# model of toxic comments with many small groups nothing is left to compare.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pandas==3.1.1 matplotlib==3.11.2 aif360==0.6.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
import pandas as pd
from aif360.datasets import BinaryLabelDataset
from aif360.metrics import BinaryLabelDatasetMetric
from aif360.sklearn.metrics import df_bias_amplification, smoothed_edf

warnings.simplefilter("ignore")
groups = np.repeat([0, 1], [5, 20])
truth = np.r_[1, 1, 1, 1, 0, np.tile([0, 1], 10)]


def values(answers, concentration):
    series = pd.Series(answers, index=pd.Index(groups, name="group"))
    frame = pd.DataFrame({"group": groups, "label": answers, "size": 0.0})
    data = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
    other = BinaryLabelDatasetMetric(data).smoothed_empirical_differential_fairness(concentration)
    return f"{smoothed_edf(series, concentration=concentration):.2f} {other:.2f}"


alike = np.r_[1, 1, 1, 1, 1, np.tile([0, 1], 10)]
parts = [f"one differs {values(truth, 1)}"]
parts += [f"all alike, {concentration} added {values(alike, concentration)}" for concentration in (1, 10, 100)]
labels = pd.Series(truth, index=pd.Index(groups, name="group"))
parts.append(f"amplification {df_bias_amplification(labels, alike):.2f}")
print(f"aif360 {importlib.metadata.version('aif360')}, of both: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aif360 0.6.1, of both: one differs 0.69 0.69, all alike, 1 added inf 1.79, all alike, 10 added inf\
 0.41, all alike, 100 added inf 0.05, amplification inf"
