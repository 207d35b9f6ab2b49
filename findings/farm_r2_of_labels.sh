#!/usr/bin/env bash
# FARM's R² takes the predictions for the truth: a regression that explains three quarters of the variance has 0.
#
# Guess before the run: the metric "r2" of FARM is scikit-learn's r2_score of labels and predictions, as in its report
# of the same predictions: .75 for a BERT whose scores are right but half as large.
# Seen: farm 0.8.0 with scikit-learn 1.9.1. It is 0, and -9132 for a model that says about the same of all texts, which
# has 0: r2_score is called with the predictions first, and is not symmetric. Beside it the report calls it in the right
# order. (The function is taken out of its file: the package's import wants mlflow and others.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    farm==0.8.0
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata

import numpy as np
from sklearn.metrics import mean_squared_error, r2_score

package = importlib.metadata.distribution("farm")
tree = ast.parse(package.locate_file("farm/evaluation/metrics.py").read_text())
tree.body = [part for part in tree.body if getattr(part, "name", None) == "compute_metrics"]
names = {"r2_score": r2_score, "mean_squared_error": mean_squared_error}
exec(compile(tree, "metrics.py", "exec"), names)

random = np.random.default_rng(0)
labels = random.normal(size=1000)
parts = []
for name, found in (
    ("half of each score", labels / 2),
    ("a constant and noise", random.normal(0, 0.01, 1000)),
    ("all right", labels),
):
    scores = names["compute_metrics"]("r2", found, labels)["r2"], r2_score(labels, found)
    parts.append(f"{name}: {scores[0]:.2f}, scikit-learn {scores[1]:.2f}")
print(f"farm {package.version}, r2 of {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "farm 0.8.0, r2 of half of each score: -0.00, scikit-learn 0.75; a constant and noise: -9132.14,\
 scikit-learn -0.00; all right: 1.00, scikit-learn 1.00"
