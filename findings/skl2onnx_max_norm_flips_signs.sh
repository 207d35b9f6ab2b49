#!/usr/bin/env bash
# A `Normalizer("max")` that skl2onnx converts turns log probabilities round: onnxruntime's maximum is not one of sizes.
#
# Guess before the run: scikit-learn's `Normalizer("max")` divides a vector by the largest absolute value, and so does
# its ONNX model, the first operator of a classifier of embeddings or of log probabilities.
# Seen: skl2onnx 1.20.0, onnxruntime 1.32.0. It becomes ONNX's Normalizer with norm MAX, where the runtime divides by
# the largest number, not size: a vector of negative numbers becomes positive, by its number that is closest to zero,
# and a vector with both signs is too large. ONNX's reference evaluator is right. A classifier of log probabilities
# that is right in 99 of 100 cases is right in 2 after conversion. "l2" is right.
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
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

random = np.random.default_rng(0)
logits = random.normal(size=(1000, 4))
vectors = (logits - np.log(np.exp(logits).sum(1, keepdims=True))).astype(np.float32)
labels = (logits[:, 0] > logits[:, 1]).astype(int)
one = np.array([[-1.0, -2.0, -4.0], [1.0, -4.0, 2.0]], np.float32)

words = []
normalizer = Normalizer("max").fit(one)
model = to_onnx(normalizer, one)
here = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": one})[0]
there = ReferenceEvaluator(model).run(None, {"X": one})[0]
words.append(f"scikit-learn {normalizer.transform(one).tolist()}, onnxruntime {here.tolist()}")
words.append(f"ONNX's reference {there.tolist()}")
for norm in ("max", "l2"):
    classifier = make_pipeline(Normalizer(norm), LogisticRegression()).fit(vectors, labels)
    session = onnxruntime.InferenceSession(to_onnx(classifier, vectors).SerializeToString())
    right = np.mean(session.run(None, {"X": vectors})[0] == labels)
    words.append(f"accuracy with {norm} {classifier.score(vectors, labels):.2f}, in ONNX {right:.2f}")
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0: scikit-learn [[-0.25, -0.5, -1.0], [0.25, -1.0, 0.5]], onnxruntime [[1.0, 2.0, 4.0],\
 [0.5, -2.0, 1.0]]; ONNX's reference [[-0.25, -0.5, -1.0], [0.25, -1.0, 0.5]]; accuracy with max 0.99, in ONNX 0.02;\
 accuracy with l2 0.99, in ONNX 0.99"
