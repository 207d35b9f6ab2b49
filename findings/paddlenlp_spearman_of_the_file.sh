#!/usr/bin/env bash
# The Spearman correlation of PaddleNLP is 1.00 for a BERT that says the same of every pair, if the file is sorted.
#
# Guess before the run: PearsonAndSpearman, the score of STS-B, gives equal values their mean rank, as scipy's
# spearmanr does: a constant prediction has no correlation, and the order of the file plays no role.
# Seen: paddlenlp 2.8.1 with paddlepaddle 3.3.1, scipy 1.17.1. Equal values get the ranks in which a sort leaves them,
# mostly the order of the file: a constant prediction has -.98 where grades rise in the file, 1.00 where they fall.
# Predictions of whole grades from 0 to 5 have .72 in one order, .74 in another, and .75 by definition. (The module is
# loaded by its path, without PaddleNLP's own imports, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 setuptools==80.8.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import numpy as np
import paddle
from scipy.stats import spearmanr

path = importlib.metadata.distribution("paddlenlp").locate_file("paddlenlp/metrics/glue.py")
spec = importlib.util.spec_from_file_location("glue", path)
glue = importlib.util.module_from_spec(spec)
spec.loader.exec_module(glue)

random = np.random.default_rng(0)
grades = random.integers(0, 6, 1500).astype("float32")
stars = np.round(grades + random.normal(0, 1.5, 1500)).clip(0, 5).astype("float32")
cases = {
    "constant, file sorted": (np.ones(1500, "float32"), np.sort(grades)),
    "sorted the other way": (np.ones(1500, "float32"), -np.sort(-grades)),
    "a copy of the labels": (grades, grades),
    "whole grades": (stars, grades),
    "the same, sorted": (stars[np.argsort(grades, kind="stable")], np.sort(grades)),
    "the other way": (stars[np.argsort(-grades, kind="stable")], -np.sort(-grades)),
}
parts = []
for name, (predicted, labels) in cases.items():
    metric = glue.PearsonAndSpearman()
    metric.update((paddle.to_tensor(predicted[:, None]), paddle.to_tensor(labels[:, None])))
    right = np.nan_to_num(spearmanr(predicted, labels).statistic)
    parts.append(f"{name} {metric.accumulate()[1]:.2f} {right:.2f}")
print(f"paddlenlp {importlib.metadata.version('paddlenlp')} and SciPy: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1 and SciPy: constant, file sorted -0.98 0.00; sorted the other way 1.00 0.00; a copy of\
 the labels 1.00 1.00; whole grades 0.72 0.75; the same, sorted 0.74 0.75; the other way 0.74 0.75"
