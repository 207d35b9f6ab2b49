#!/usr/bin/env bash
# CatBoost's regressions of counts, with Poisson's or Tweedie's loss, give logarithms in the ONNX file that it writes.
#
# Guess before the run: The ONNX file predicts what `predict` does: CatBoost returns the exponential of the trees' sum
# for `Poisson` and `Tweedie`.
# Seen: CatBoost 1.2.10, onnxruntime 1.32.0. The file ends with the sum of the trees, for Poisson a mean of .86 in
# place of 3.14, for Tweedie .60 in place of 1.97. Nothing warns. A regression of squared errors is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    onnxruntime==1.32.0 scipy==1.17.1 pandas==3.1.1 six==1.17.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    catboost==1.2.10
cat > "$folder/program.py" <<'PYTHON'
import sys

import catboost
import numpy as np
import onnxruntime

random = np.random.default_rng(0)
features = random.normal(size=(2000, 5)).astype(np.float32)
train, test = features[:1000], features[1000:]
options = {"iterations": 30, "verbose": False, "allow_writing_files": False, "thread_count": 1}


def outputs(model):
    """What onnxruntime says of the test set: one array for each output."""
    model.save_model(f"{sys.argv[1]}/model.onnx", format="onnx")
    session = onnxruntime.InferenceSession(f"{sys.argv[1]}/model.onnx")
    values = session.run(None, {"features": test})
    if isinstance(values[-1], list):
        values[-1] = np.array([[row[name] for name in sorted(row)] for row in values[-1]])
    return values


counts = random.poisson(np.exp(features[:, 0] + 1))
words = []
for loss in ("Poisson", "Tweedie:variance_power=1.5", "RMSE"):
    model = catboost.CatBoostRegressor(loss_function=loss, **options).fit(train, counts[:1000])
    here, there = model.predict(test), outputs(model)[0].ravel()
    logs = np.abs(model.predict(test, prediction_type="RawFormulaVal") - there).max()
    words.append(f"{loss} {here.mean():.2f} and {there.mean():.2f}, from the sum of the trees {logs:.2f}")
print(f"catboost {catboost.__version__}, means of CatBoost and ONNX for {counts[1000:].mean():.2f}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catboost 1.2.10, means of CatBoost and ONNX for 4.67: Poisson 3.14 and 0.86, from the sum of the\
 trees 0.00; Tweedie:variance_power=1.5 1.97 and 0.60, from the sum of the trees 0.00; RMSE 4.74 and 4.74, from the\
 sum of the trees 0.00"
