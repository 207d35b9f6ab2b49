#!/usr/bin/env bash
# biasMetrics says that a toxicity model skews away from a group whose texts it scores highest of all: -.50 for .50.
#
# Guess before the run: the average equality gap of a group whose scores are above those of all others is .5, for
# "positive scores indicate a rightward shift in the subpopulation and a tendency for the model to produce false
# positives".
# Seen: biasMetrics 0.5.0 with SciPy 1.17.1. It is -.50, and .50 for a group with the lowest scores: it takes a half
# minus the U of SciPy's Mann-Whitney test, which counts the pairs in which the group is higher. For a shift of .1 it is
# -.17 and -.16. Read as its page says, false alarms about a group are false negatives, and a mitigation of a BERT for
# toxic comments goes the wrong way. The AUC of each subgroup beside it is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pandas==3.1.1 seaborn==0.13.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    biasMetrics==0.5.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
from biasMetrics.metrics import AEG, NuancedROC
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(0)
group = rng.integers(0, 2, 4000)
target = rng.integers(0, 2, 4000)
parts = []
for name, shift in (("far above", 1.0), ("a little above", 0.1), ("equal", 0.0), ("far below", -1.0)):
    scores = 0.25 * target + rng.uniform(0, 0.5, 4000) + shift * group
    frames = pd.DataFrame({"t": target}), pd.DataFrame({"p": scores}), pd.DataFrame({"group": group})
    gaps = AEG()
    gaps.score(*(frame.copy() for frame in frames), output=False)
    aucs = NuancedROC()
    aucs.score(*(frame.copy() for frame in frames), output=False)
    own = roc_auc_score(target[group == 1], scores[group == 1])
    right = abs(aucs.output_df.loc["group", "SG-ROC"] - own) < 1e-9
    values = " ".join(f"{value:.2f}" for value in gaps.output_df.loc["group"])
    parts.append(f"{name} {values}, AUC {'right' if right else 'wrong'}")
print(f"biasMetrics {importlib.metadata.version('biasMetrics')}, gaps of the group: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "biasMetrics 0.5.0, gaps of the group: far above -0.50 -0.50, AUC right; a little above -0.17 -0.16,\
 AUC right; equal 0.01 0.00, AUC right; far below 0.50 0.50, AUC right"
