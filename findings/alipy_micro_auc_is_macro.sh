#!/usr/bin/env bash
# The micro AUC of ALiPy is the macro one, and perfect scores have an average precision of .74 if texts have no label.
#
# Guess before the run: `micro_auc_score` of ALiPy, which chooses among active learners of several labels, is
# scikit-learn's `roc_auc_score(average="micro")`, of all pairs of texts and labels, and `average_precision_score` of
# labels as scores is 1.
# Seen: ALiPy 1.2.5. The "micro" AUC is .757 with scores that put the four labels on other levels and .757 with scores
# that do not; scikit-learn has .457 and .767, and .757 for the macro average. Equal scores count as wrong, so that a
# constant has 0.00, not .50. The average precision leaves texts without a label out of the sum and not out of the
# number of texts: perfect scores have .74, as many as have a label.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    alipy==1.2.5 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from alipy.metrics.performance import average_precision_score, micro_auc_score
from sklearn.metrics import label_ranking_average_precision_score, roc_auc_score

random = np.random.default_rng(0)
labels = (random.uniform(size=(500, 4)) < [0.02, 0.1, 0.3, 0.5]).astype(int)
scores = labels + random.normal(size=labels.shape)
cases = {"scores": scores, "of other levels": scores + [0, 0, 4, -4], "constant": np.zeros(labels.shape)}
parts = []
for name, values in cases.items():
    own = [roc_auc_score(labels, values, average=average) for average in ("micro", "macro")]
    parts.append(f"{name} {micro_auc_score(labels, values):.3f} ({own[0]:.3f}, {own[1]:.3f})")
perfect = labels.astype(float)
precision = average_precision_score(labels, perfect), label_ranking_average_precision_score(labels, perfect)
print(
    f"alipy {importlib.metadata.version('alipy')}: micro AUC (sklearn's micro, macro): {', '.join(parts)};",
    f"average precision of perfect scores {precision[0]:.2f} ({precision[1]:.2f}),",
    f"{(labels.sum(axis=1) > 0).mean():.0%} with a label",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "alipy 1.2.5: micro AUC (sklearn's micro, macro): scores 0.757 (0.767, 0.757), of other levels 0.757\
 (0.457, 0.757), constant 0.000 (0.500, 0.500); average precision of perfect scores 0.74 (1.00), 74% with a label"
