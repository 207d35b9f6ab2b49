#!/usr/bin/env bash
# The Matthews correlation of a perfect classifier is 0 in PaddleNLP, as that of one always wrong: the score of CoLA.
#
# Guess before the run: `Mcc` of PaddleNLP, in its metrics/glue.py, has 1.00 for predictions that are all right, -1.00
# for none, and scikit-learn's number between.
# Seen: paddlenlp 2.8.1 with paddlepaddle 3.3.1 and scikit-learn 1.9.1. It is 0 for both, and for a classifier whose
# faults are all in one class (.58): wherever one of the four counts of the confusion matrix is zero, though only a
# product of sums is divided by. Where all four are there the numbers agree. (The module is loaded by its path, without
# PaddleNLP's own imports, which it does not use.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 scikit-learn==1.9.1 numpy==2.4.6 setuptools==80.8.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    paddlenlp==2.8.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import numpy as np
import paddle
from sklearn.metrics import matthews_corrcoef

path = importlib.metadata.distribution("paddlenlp").locate_file("paddlenlp/metrics/glue.py")
spec = importlib.util.spec_from_file_location("glue", path)
glue = importlib.util.module_from_spec(spec)
spec.loader.exec_module(glue)

labels = np.arange(100) % 2
parts = []
for name, step in (("all right", None), ("a quarter wrong, of one class", 4), ("a third wrong", 3), ("all wrong", 1)):
    predicted = labels.copy()
    if step:
        predicted[::step] = 1 - predicted[::step]
    metric = glue.Mcc()
    logits = paddle.to_tensor(np.eye(2, dtype=np.float32)[predicted])
    metric.update(metric.compute(logits, paddle.to_tensor(labels[:, None])))
    parts.append(f"{name} {metric.accumulate()[0]:.2f}, scikit-learn {matthews_corrcoef(labels, predicted):.2f}")
print(f"paddlenlp {importlib.metadata.version('paddlenlp')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddlenlp 2.8.1: all right 0.00, scikit-learn 1.00; a quarter wrong, of one class 0.00, scikit-learn\
 0.58; a third wrong 0.32, scikit-learn 0.32; all wrong 0.00, scikit-learn -1.00"
