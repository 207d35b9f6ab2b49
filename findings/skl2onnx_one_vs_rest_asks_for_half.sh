#!/usr/bin/env bash
# One-versus-rest of LinearSVC for several labels gives fewer of them in ONNX: skl2onnx asks for a score of .5, not 0.
#
# Guess before the run: A label is given where the machine's score is positive, in scikit-learn and in the ONNX model
# that skl2onnx makes of `OneVsRestClassifier(LinearSVC())`.
# Seen: skl2onnx 1.20.0. For a base without probabilities the ONNX model compares the score of the machine with .5, as
# if it were a probability: of 671 labels that scikit-learn gives 429 are left, and the micro F1 falls from .81 to
# .71. A linear classifier of SGD loses fewer, as its scores are larger. A logistic regression, which has
# probabilities, is right.
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
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

random = np.random.default_rng(0)
embeddings = random.normal(size=(2000, 16)).astype(np.float32)
scores = embeddings @ random.normal(size=(16, 5)) + random.normal(size=(2000, 5))
labels = (scores > 4).astype(int)
words = []
for base in (LinearSVC(random_state=0), SGDClassifier(random_state=0), LogisticRegression()):
    model = OneVsRestClassifier(base).fit(embeddings[:1000], labels[:1000])
    session = onnxruntime.InferenceSession(to_onnx(model, embeddings[:1]).SerializeToString())
    there = session.run(None, {"X": embeddings[1000:]})[0]
    here = model.predict(embeddings[1000:])
    machine = model.decision_function(embeddings[1000:])
    above = np.mean(there == (machine > 0.5))
    f1s = [f1_score(labels[1000:], predictions, average="micro") for predictions in (here, there)]
    words.append(f"{type(base).__name__} {here.sum()} {there.sum()} F1 {f1s[0]:.2f} {f1s[1]:.2f} above .5 {above:.2f}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}, labels in scikit-learn and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, labels in scikit-learn and ONNX: LinearSVC 671 429 F1 0.81 0.71 above .5 1.00;\
 SGDClassifier 749 694 F1 0.79 0.79 above .5 1.00; LogisticRegression 643 643 F1 0.82 0.82 above .5 0.98"
