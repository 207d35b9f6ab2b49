#!/usr/bin/env bash
# The threshold that a CatBoost classifier was given is .5 again in the ONNX file: 499 texts are positive for 287.
#
# Guess before the run: `set_probability_threshold(.9)` is kept in the model, as CatBoost's own file keeps it, and the
# labels of the ONNX file obey it.
# Seen: CatBoost 1.2.10, onnxruntime 1.32.0. The labels of the ONNX file are those at .5. CatBoost's own file keeps
# the threshold. The probabilities are the same, so the labels of the ONNX file are of no use where a threshold was
# chosen.
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


labels = (features[:, 0] + 0.5 * random.normal(size=2000) > 0).astype(int)
words = []
for threshold in (0.5, 0.9):
    model = catboost.CatBoostClassifier(**options).fit(train, labels[:1000])
    model.set_probability_threshold(threshold)
    model.save_model(f"{sys.argv[1]}/model.cbm")
    loaded = catboost.CatBoostClassifier().load_model(f"{sys.argv[1]}/model.cbm")
    sums = [model.predict(test).sum(), loaded.predict(test).sum(), outputs(model)[0].sum()]
    words.append(f"at {threshold} {sums[0]}, loaded {sums[1]}, ONNX {sums[2]}")
print(f"catboost {catboost.__version__}, positive texts of 1,000: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catboost 1.2.10, positive texts of 1,000: at 0.5 499, loaded 499, ONNX 499; at 0.9 287, loaded 287,\
 ONNX 499"
