#!/usr/bin/env bash
# `SimpleImputer(add_indicator=True)` loses its indicators in skl2onnx: a classifier after it falls from .99 to .31.
#
# Guess before the run: The columns that say where a value was missing are in the ONNX model, or skl2onnx refuses to
# convert them.
# Seen: skl2onnx 1.20.0, onnxruntime 1.32.0. The ONNX model has four columns of five, and the linear classifier after
# it reads them as they come, without an error: of a label that depends on what is missing .99 are right in
# scikit-learn and .31 in ONNX. Nothing warns. Without indicators both are .76.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

random = np.random.default_rng(0)
features = random.normal(size=(2000, 4)).astype(np.float32)
missing = random.uniform(size=2000) < 0.3
labels = np.where(missing, 1, features[:, 0] > 0).astype(int)
features[missing, 1] = np.nan
words = []
for indicator in (True, False):
    model = make_pipeline(SimpleImputer(add_indicator=indicator), LogisticRegression())
    model.fit(features[:1000], labels[:1000])
    onnx_model = to_onnx(model, features[:1], options={id(model): {"zipmap": False}})
    there = onnxruntime.InferenceSession(onnx_model.SerializeToString()).run(None, {"X": features[1000:]})[0]
    right = [np.mean(x == labels[1000:]) for x in (model.predict(features[1000:]), there)]
    columns = model[0].transform(features).shape[1]
    words.append(f"add_indicator={indicator} {columns} columns {right[0]:.2f} and {right[1]:.2f}")
version = importlib.metadata.version("skl2onnx")
print(f"skl2onnx {version}, accuracy in scikit-learn and ONNX: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, accuracy in scikit-learn and ONNX: add_indicator=True 5 columns 0.99 and 0.31,\
 add_indicator=False 4 columns 0.76 and 0.76"
