#!/usr/bin/env bash
# LightGBM's one-versus-all classifier has other probabilities in ONNX: onnxmltools takes a softmax for its sigmoids.
#
# Guess before the run: The probabilities of `objective="multiclassova"` are sigmoids, divided by their sum, in the
# ONNX model, too.
# Seen: onnxmltools 1.16.0, LightGBM 4.7.0. The ONNX model's probabilities are those of a softmax of the scores. The
# labels are the same, but not how sure they are: what was calibrated or has a threshold is off.
# `objective="multiclass"` is right.
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


noisy = features + random.normal(size=features.shape)
classes = (noisy[:, 0] > 0).astype(int) + (noisy[:, 1] > 0)
words = []
for objective in ("multiclassova", "multiclass"):
    model = lightgbm.LGBMClassifier(objective=objective, n_estimators=30, verbose=-1).fit(train, classes[:1000])
    labels, probabilities = outputs(model)
    here = model.predict_proba(test)
    far = np.abs(here - probabilities).max()
    loss = [-np.mean(np.log(p[np.arange(1000), classes[1000:]])) for p in (here, probabilities)]
    scores = model.predict(test, raw_score=True)
    softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    words.append(
        f"{objective}: furthest {far:.2f}, from a softmax {np.abs(softmax - probabilities).max():.2f},"
        f" log loss {loss[0]:.3f} and {loss[1]:.3f}, same labels {np.mean(model.predict(test) == labels):.2f}"
    )
print(f"onnxmltools {importlib.metadata.version('onnxmltools')}, LightGBM and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "onnxmltools 1.16.0, LightGBM and ONNX: multiclassova: furthest 0.46, from a softmax 0.00, log loss\
 0.920 and 1.029, same labels 1.00; multiclass: furthest 0.00, from a softmax 0.00, log loss 0.907 and 0.907, same\
 labels 1.00"
