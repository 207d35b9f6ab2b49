#!/usr/bin/env bash
# The order of rows decides scikit-posthocs' Wilcoxon test: p is .0005 to .0210 for the same scores.
#
# Guess before the run: `posthoc_wilcoxon` on a table of (data set, model, score) compares models on the same data sets,
# in whatever order the rows are, as `posthoc_nemenyi_friedman` with its column of blocks does.
# Seen: scikit-posthocs 0.17.1. The test has no argument for the data set, and pairs the first row of a model with the
# first row of another one. Rows in the order in which runs ended, as a log of a sweep has them, are compared across
# data sets: p rises up to forty times, without a word. `sort=True` sorts by model and score, and so pairs the worst
# with the worst.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-posthocs==0.17.1 numpy==2.4.6 scipy==1.17.1 pandas==3.0.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas
import scikit_posthocs
from scipy.stats import wilcoxon

random = np.random.default_rng(0)
scores = random.normal(0.8, 0.02, (12, 1)) + random.normal(0, 0.02, (12, 2)) + [0, 0.02]
table = pandas.DataFrame(scores, columns=["small", "large"])
table = table.melt(ignore_index=False, var_name="model", value_name="score").reset_index(names="data")


def value(rows, **arguments):
    return scikit_posthocs.posthoc_wilcoxon(rows, "score", "model", **arguments).loc["small", "large"]


shuffled = [value(table.sample(frac=1, random_state=seed)) for seed in range(200)]
blocks = dict(y_col="score", group_col="model", block_col="data", block_id_col="data", melted=True)
nemenyi = []
for rows in (table, table.sample(frac=1, random_state=1)):
    nemenyi.append(scikit_posthocs.posthoc_nemenyi_friedman(rows, **blocks).loc["small", "large"])
print(
    f"scikit-posthocs {importlib.metadata.version('scikit-posthocs')}: by data set {value(table):.4f} "
    f"(scipy {wilcoxon(*scores.T).pvalue:.4f}), shuffled {min(shuffled):.4f} to {max(shuffled):.4f}, "
    f"sorted {value(table, sort=True):.4f}; Nemenyi {nemenyi[0]:.4f}, shuffled {nemenyi[1]:.4f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "scikit-posthocs 0.17.1: by data set 0.0005 (scipy 0.0005), shuffled 0.0005 to 0.0210, sorted 0.0005;\
 Nemenyi 0.0005, shuffled 0.0005"
