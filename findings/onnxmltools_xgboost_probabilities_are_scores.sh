#!/usr/bin/env bash
# Probabilities of XGBoost with reg:logistic or multi:softmax are scores of -3 to 4 in ONNX: onnxmltools stops there.
#
# Guess before the run: A regression of soft labels by `objective="reg:logistic"` is between 0 and 1 in the ONNX
# model, too, and the probabilities of `multi:softmax` add up to 1.
# Seen: onnxmltools 1.16.0, XGBoost 3.2.0. The regression of soft labels, as of a teacher's probabilities, has no
# sigmoid in ONNX, and the classifier's probabilities no softmax: they are the sums of trees. `multi:softprob` is
# right, and it is what XGBoost sets for a classifier that names no objective.
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


soft = 1 / (1 + np.exp(-2 * features[:, 0]))
classes = (features[:, 0] > 0).astype(int) + (features[:, 1] > 0)
words = []
model = xgboost.XGBRegressor(objective="reg:logistic", n_estimators=20).fit(train, soft[:1000])
for values in (model.predict(test), outputs(model)[0]):
    words.append(f"from {values.min():.2f} to {values.max():.2f}")
words = [f"reg:logistic {' and '.join(words)}"]
for objective in ("multi:softmax", "multi:softprob"):
    model = xgboost.XGBClassifier(objective=objective, n_estimators=20).fit(train, classes[:1000])
    sums = [values.sum(1) for values in (model.predict_proba(test), outputs(model)[1])]
    words.append(f"{objective} sums {' and '.join(f'{s.min():.2f} to {s.max():.2f}' for s in sums)}")
version = importlib.metadata.version("onnxmltools")
print(f"onnxmltools {version}, XGBoost {xgboost.__version__} and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxmltools 1.16.0, XGBoost 3.2.0 and ONNX: reg:logistic from 0.02 to 0.98 and from -3.25 to 4.28;\
 multi:softmax sums 1.00 to 1.00 and -5.61 to 0.67; multi:softprob sums 1.00 to 1.00 and 1.00 to 1.00"
