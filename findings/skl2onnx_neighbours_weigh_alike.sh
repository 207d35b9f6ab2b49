#!/usr/bin/env bash
# Nearest neighbours that skl2onnx converts weigh alike, near or far: `weights="distance"` is a plain mean.
#
# Guess before the run: With `weights="distance"` a neighbour counts by the inverse of its distance in the ONNX model,
# too, and a text that is in the training set has its own label.
# Seen: skl2onnx 1.20.0, onnxruntime 1.32.0. Of two neighbours at 1 and 2 the nearer has two thirds in scikit-learn
# and a half in ONNX, a text that is a neighbour itself has all there and a half here: all weights are one number. Of
# random labels the training set has 1.00 right there and .55 here. `weights="uniform"` is right, and gives the same
# as "distance".
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
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

line = np.array([[0.0], [3.0], [100.0]], np.float32)
queries = np.array([[1.0], [2.0], [0.0]], np.float32)


def both(model, queries):
    options = {id(model): {"zipmap": False}} if hasattr(model, "predict_proba") else None
    session = onnxruntime.InferenceSession(to_onnx(model, queries[:1], options=options).SerializeToString())
    return model.predict(queries), session.run(None, {"X": queries})[0].ravel()


words = []
for weights in ("distance", "uniform"):
    model = KNeighborsRegressor(2, weights=weights).fit(line, [0.0, 1.0, 9.0])
    parts = [" ".join(f"{value:.2f}" for value in values) for values in both(model, queries)]
    words.append(f"{weights}: scikit-learn {parts[0]}, ONNX {parts[1]}")
random = np.random.default_rng(0)
embeddings = random.normal(size=(500, 8)).astype(np.float32)
labels = random.integers(0, 3, 500)
here, there = both(KNeighborsClassifier(5, weights="distance").fit(embeddings, labels), embeddings)
words.append(f"accuracy on the training set {np.mean(here == labels):.2f} and {np.mean(there == labels):.2f}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0: distance: scikit-learn 0.33 0.67 0.00, ONNX 0.50 0.50 0.50; uniform: scikit-learn\
 0.50 0.50 0.50, ONNX 0.50 0.50 0.50; accuracy on the training set 1.00 and 0.55"
