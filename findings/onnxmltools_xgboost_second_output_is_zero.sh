#!/usr/bin/env bash
# The second target of an XGBoost regression that onnxmltools converts is 0, and so is the second of two quantiles.
#
# Guess before the run: A regression with two targets, or of two quantiles, has two columns in the ONNX model, or the
# converter refuses.
# Seen: onnxmltools 1.16.0, XGBoost 3.2.0. The ONNX model has two columns, the second is 0 for all texts, and the
# first has another mean than either output. onnxruntime warns of another shape than the model names, and goes on. One
# target is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 onnxmltools==1.16.0 skl2onnx==1.20.0 onnx==1.23.2 onnxruntime==1.32.0 \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    xgboost==3.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import onnxruntime
import xgboost
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType

random = np.random.default_rng(0)
features = random.normal(size=(2000, 5)).astype(np.float32)
train, test = features[:1000], features[1000:]


def outputs(model):
    """What onnxruntime says of the test set: one array for each output."""
    onnx_model = convert_xgboost(model, initial_types=[("x", FloatTensorType([None, 5]))])
    return onnxruntime.InferenceSession(onnx_model.SerializeToString()).run(None, {"x": test})


targets = np.stack([features[:, 0] * 2, features[:, 1] * 2 + 1], axis=1)
words = []
for name, options, labels in (
    ("two targets", {}, targets),
    ("two quantiles", {"objective": "reg:quantileerror", "quantile_alpha": np.array([0.1, 0.9])}, targets[:, 1]),
    ("one target", {}, targets[:, 1]),
):
    model = xgboost.XGBRegressor(n_estimators=30, **options).fit(train, labels[:1000])
    here, there = model.predict(test).reshape(1000, -1), outputs(model)[0]
    parts = [" ".join(f"{value:.2f}" for value in values.mean(0)) for values in (here, there)]
    words.append(f"{name} {parts[0]} and {parts[1]}")
version = importlib.metadata.version("onnxmltools")
print(f"onnxmltools {version}, means of XGBoost {xgboost.__version__} and ONNX: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxmltools 1.16.0, means of XGBoost 3.2.0 and ONNX: two targets 0.07 1.01 and 0.17 0.00, two\
 quantiles 0.47 1.47 and -1.67 0.00, one target 1.01 and 1.01"
