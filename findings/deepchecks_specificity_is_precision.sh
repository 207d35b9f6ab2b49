#!/usr/bin/env bash
# The specificity of deepchecks is the precision: a classifier that rejects 810 of 900 negative texts has .50, not .90.
#
# Guess before the run: its scorers "fpr", "fnr" and "specificity" (tnr) are what their comments say, false positives
# of all negatives, false negatives of all positives, true negatives of all negatives.
# Seen: deepchecks 0.19.1 with scikit-learn 1.9.1. True positives stand where true negatives belong, and the reverse:
# the false positive rate is one minus the precision, .50 for .10, the false negative rate is of what is predicted
# negative, .01 for .10, and the specificity is the precision. A classifier that never says "positive" has a false
# negative rate of .10 and a specificity of 0. (The functions are taken out of their files: the package's import wants
# many others, which they do not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deepchecks==0.19.1
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata
from typing import Union

import numpy as np
from sklearn.metrics import confusion_matrix, precision_score

package = importlib.metadata.distribution("deepchecks")
names = {"np": np, "Union": Union, "confusion_matrix": confusion_matrix}
for path in ("utils/metrics.py", "tabular/metric_utils/additional_classification_metrics.py"):
    tree = ast.parse(package.locate_file(f"deepchecks/{path}").read_text())
    tree.body = [part for part in tree.body if isinstance(part, ast.FunctionDef)]
    for part in tree.body:
        part.returns = None
        for argument in part.args.args:
            argument.annotation = None
    exec(compile(tree, path, "exec"), names)

truth = np.repeat([0, 1], [900, 100])
predictions = {
    "90 of 100 found, 90 of 900 false": np.concatenate([np.arange(900) < 90, np.arange(100) < 90]).astype(int),
    "nothing is positive": np.zeros(1000, dtype=int),
    "all is positive": np.ones(1000, dtype=int),
}
parts = []
for name, predicted in predictions.items():
    (tn, fp), (fn, tp) = confusion_matrix(truth, predicted)
    right = {
        "false_positive_rate": fp / (fp + tn),
        "false_negative_rate": fn / (fn + tp),
        "true_negative_rate": tn / (tn + fp),
    }
    words = [f"{names[f'{key}_metric'](truth, predicted, 'binary'):.2f} {value:.2f}" for key, value in right.items()]
    parts.append(f"{name} {', '.join(words)}, precision {precision_score(truth, predicted, zero_division=0):.2f}")
print(f"deepchecks {package.version}, FPR, FNR, specificity and their definitions: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepchecks 0.19.1, FPR, FNR, specificity and their definitions: 90 of 100 found, 90 of 900 false 0.50\
 0.10, 0.01 0.10, 0.50 0.90, precision 0.50; nothing is positive 0.00 0.00, 0.10 1.00, 0.00 1.00,\
 precision 0.00; all is positive 0.90 1.00, 0.00 0.00, 0.10 0.00, precision 0.10"
