#!/usr/bin/env bash
# CatBoost's classifier of several labels is one of a single label in ONNX: probabilities of all labels add up to 1.
#
# Guess before the run: A model of `MultiLogloss` gives a text each of its labels with a probability of its own in the
# ONNX file that CatBoost writes, and one-versus-all a sigmoid for each class.
# Seen: CatBoost 1.2.10, onnxruntime 1.32.0. The file computes a softmax over the labels and names the likeliest one,
# whatever the loss was: the probabilities of three labels add up to 1.00 where their mean sum is 1.52, and are up to
# .76 off. Those of one-versus-all are up to .17 off, with the same labels. Nothing warns. One of three classes is
# right.
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


labels = (features[:, :3] + 0.5 * random.normal(size=(2000, 3)) > 0).astype(int)
classes = features[:, :3].argmax(1)
words = []
for name, loss, truth in (
    ("several labels", "MultiLogloss", labels),
    ("one-versus-all", "MultiClassOneVsAll", classes),
    ("one of three classes", "MultiClass", classes),
):
    model = catboost.CatBoostClassifier(loss_function=loss, **options).fit(train, truth[:1000])
    here, (predictions, there) = model.predict_proba(test), outputs(model)
    words.append(
        f"{name}: predictions {model.predict(test).ravel().size} and {predictions.size},"
        f" sums of probabilities {here.sum(1).mean():.2f} and {there.sum(1).mean():.2f},"
        f" furthest {np.abs(here - there).max():.2f}"
    )
print(f"catboost {catboost.__version__}, CatBoost and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "catboost 1.2.10, CatBoost and ONNX: several labels: predictions 3000 and 1000, sums of probabilities\
 1.52 and 1.00, furthest 0.76; one-versus-all: predictions 1000 and 1000, sums of probabilities 1.25 and 1.00,\
 furthest 0.17; one of three classes: predictions 1000 and 1000, sums of probabilities 1.00 and 1.00, furthest 0.00"
