#!/usr/bin/env bash
# The accuracy that mlxtend estimates by the .632+ bootstrap is 8.77 or -27.09 in single draws, and .20 for a guess.
#
# Guess before the run: `method=".632+"` is the estimate of Efron and Tibshirani (1997), which keeps the rate of
# overfitting between 0 and 1 and is made for models that learn by heart: .50 for labels that are random.
# Seen: mlxtend 0.25.0. Vectors and labels of 60 texts are random. The rate is taken of every draw and kept nowhere:
# weights are negative or above 1, and of 200 accuracies the lowest is -27.09 and the highest 8.77 for a logistic
# regression. The mean for one neighbour is .20, where .632 says .55 and the texts left out .41. Percentiles of these
# scores, which mlxtend's page takes for a confidence interval, leave the scale as well.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 pandas==2.3.3 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np
from mlxtend.evaluate import bootstrap_point632_score
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
vectors = rng.normal(size=(60, 5))
labels = rng.integers(0, 2, 60)
parts = []
for name, model in (
    ("logistic regression", LogisticRegression()),
    ("15 neighbours", KNeighborsClassifier(15)),
    ("one neighbour", KNeighborsClassifier(1)),
):
    values = {}
    for method in ("oob", ".632", ".632+"):
        values[method] = bootstrap_point632_score(model, vectors, labels, n_splits=200, method=method, random_seed=1)
    scores = values[".632+"]
    means = ", ".join(f"{method} {np.mean(value):.2f}" for method, value in values.items())
    parts.append(f"{name}: {means} ({np.min(scores):.2f} to {np.max(scores):.2f})")
print(f"mlxtend {importlib.metadata.version('mlxtend')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0: logistic regression: oob 0.42, .632 0.46, .632+ 0.45 (-27.09 to 8.77); 15 neighbours:\
 oob 0.45, .632 0.49, .632+ 0.52 (-2.83 to 6.67); one neighbour: oob 0.41, .632 0.55, .632+ 0.20 (-1.76 to 1.06)"
