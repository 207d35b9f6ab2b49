#!/usr/bin/env bash
# onnxmltools loses four options of LightGBM models: linear trees, roots, zeros as missing values, the sigmoid's slope.
#
# Guess before the run: What changes a prediction, as `linear_tree`, `reg_sqrt`, `zero_as_missing` and `sigmoid`, is
# in the ONNX model, or the converter refuses.
# Seen: onnxmltools 1.16.0, LightGBM 4.7.0. A regression with `reg_sqrt` has its root in ONNX, one with linear trees
# their constants, a classifier with a sigmoid of slope 2 that of slope 1, and one that takes zeros for missing values
# reads them as numbers, which moves probabilities by up to .84. Nothing warns. Without these options both agree.
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
    lightgbm==4.7.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import lightgbm
import numpy as np
import onnxruntime
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

random = np.random.default_rng(0)
features = random.normal(size=(2000, 5)).astype(np.float32)
train, test = features[:1000], features[1000:]


def outputs(model):
    """What onnxruntime says of the test set: one array for each output."""
    onnx_model = convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, 5]))], zipmap=False)
    return onnxruntime.InferenceSession(onnx_model.SerializeToString()).run(None, {"x": test})


test[::3, 0] = 0
ratings = features[:, 0] * 2 + 10
labels = (features[:, 0] + 0.5 * features[:, 1] > 0).astype(int)
words = []
for options in ({}, {"linear_tree": True}, {"reg_sqrt": True}):
    model = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, **options).fit(train, ratings[:1000])
    far = np.abs(model.predict(test) - outputs(model)[0].ravel())
    words.append(f"regression {options} {far.mean():.2f}")
for options in ({}, {"sigmoid": 2.0}, {"zero_as_missing": True}):
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, **options).fit(train, labels[:1000])
    far = np.abs(model.predict_proba(test) - outputs(model)[1])
    words.append(f"classifier {options} {far.mean():.2f} at most {far.max():.2f}")
version = importlib.metadata.version("onnxmltools")
print(f"onnxmltools {version}, mean distance from LightGBM: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxmltools 1.16.0, mean distance from LightGBM: regression {} 0.00, regression {'linear_tree': True}\
 0.08, regression {'reg_sqrt': True} 6.83, classifier {} 0.00 at most 0.00, classifier {'sigmoid': 2.0} 0.14 at most\
 0.15, classifier {'zero_as_missing': True} 0.13 at most 0.84"
