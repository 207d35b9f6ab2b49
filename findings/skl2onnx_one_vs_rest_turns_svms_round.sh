#!/usr/bin/env bash
# skl2onnx turns `OneVsRestClassifier(SVC())` round: the ONNX model never says what scikit-learn says, of 1,000 texts.
#
# Guess before the run: One-versus-rest of support vector machines takes the class whose machine has the highest
# score, in scikit-learn and in its ONNX model.
# Seen: skl2onnx 1.20.0, onnxruntime 1.32.0, scikit-learn 1.9.1. Of 1,000 embeddings with three classes scikit-learn
# finds .93 and the ONNX model none; with three labels each it is .96 and .07, for each label is the opposite. With
# `probability=True`, an SVC that chooses among the classes itself, or a logistic regression for each class, both
# agree. Nothing warns.
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
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

random = np.random.default_rng(0)
embeddings = random.normal(size=(2000, 8)).astype(np.float32)
classes = embeddings[:, :3].argmax(1)
topics = (embeddings[:, :3] > 0).astype(int)
words = []
for name, model in (
    ("one-versus-rest of SVC", OneVsRestClassifier(SVC())),
    ("with probability=True", OneVsRestClassifier(SVC(probability=True, random_state=0))),
    ("SVC itself", SVC()),
    ("one-versus-rest of regressions", OneVsRestClassifier(LogisticRegression())),
):
    shares = []
    for labels in (classes, topics):
        if labels is topics and name == "SVC itself":
            continue
        model.fit(embeddings[:1000], labels[:1000])
        session = onnxruntime.InferenceSession(to_onnx(model, embeddings[:1]).SerializeToString())
        there = session.run(None, {"X": embeddings[1000:]})[0]
        here = model.predict(embeddings[1000:])
        for predictions in (here, there):
            shares.append(f"{np.mean(predictions.reshape(here.shape) == labels[1000:]):.2f}")
    words.append(f"{name} {' '.join(shares)}")
version = importlib.metadata.version("skl2onnx")
print(f"skl2onnx {version}, accuracy of scikit-learn and ONNX, one class and several labels: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, accuracy of scikit-learn and ONNX, one class and several labels: one-versus-rest of\
 SVC 0.93 0.00 0.96 0.07, with probability=True 0.93 0.93 0.96 0.96, SVC itself 0.93 0.93, one-versus-rest of\
 regressions 0.98 0.98 1.00 1.00"
