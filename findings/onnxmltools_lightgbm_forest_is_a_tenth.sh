#!/usr/bin/env bash
# Ratings of a random forest of LightGBM are a tenth in ONNX, if it has ten trees: onnxmltools takes the mean twice.
#
# Guess before the run: With `boosting_type="rf"` the prediction is the mean over the trees, in LightGBM and in its
# ONNX model.
# Seen: onnxmltools 1.16.0, LightGBM 4.7.0. Ratings with a mean of 5.08 have .51. A classifier says one class of
# nearly all texts, .49 are right for 1.00. Boosted trees are right.
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


forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "n_estimators": 10, "verbose": -1}
ratings = features[:, 0] * 2 + 5
labels = (features[:, 0] > 0).astype(int)
regressor = lightgbm.LGBMRegressor(**forest).fit(train, ratings[:1000])
classifier = lightgbm.LGBMClassifier(**forest).fit(train, labels[:1000])
boosted = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(train, labels[:1000])
there = outputs(regressor)[0].ravel()
words = [f"mean rating {regressor.predict(test).mean():.2f} and {there.mean():.2f}"]
for name, model in (("forest", classifier), ("boosted", boosted)):
    right = [np.mean(predictions == labels[1000:]) for predictions in (model.predict(test), outputs(model)[0])]
    words.append(f"accuracy of a classifier, {name}, {right[0]:.2f} and {right[1]:.2f}")
version = importlib.metadata.version("onnxmltools")
print(f"onnxmltools {version}, LightGBM {lightgbm.__version__} and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxmltools 1.16.0, LightGBM 4.7.0 and ONNX: mean rating 5.08 and 0.51; accuracy of a classifier,\
 forest, 1.00 and 0.49; accuracy of a classifier, boosted, 1.00 and 1.00"
