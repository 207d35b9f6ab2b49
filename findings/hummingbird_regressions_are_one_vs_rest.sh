#!/usr/bin/env bash
# Hummingbird gives a logistic regression of three classes the probabilities of sigmoids, not of its softmax.
#
# Guess before the run: Hummingbird's model in PyTorch has the probabilities of the scikit-learn model that it was
# converted from, for three classes as for two.
# Seen: hummingbird-ml 0.4.12, scikit-learn 1.9.1. Probabilities of three classes are the three sigmoids of the
# scores, divided by their sum, as one-versus-rest has them: up to .32 off, with a log loss of .87 for .78. Two
# classes are right. A head on a BERT's embeddings is less sure than it was, and its thresholds don't fit.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    hummingbird-ml==0.4.12 onnx==1.16.1 scikit-learn==1.9.1 scipy==1.17.1 torch==2.13.0 lightgbm==4.7.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from hummingbird.ml import convert
from sklearn.linear_model import LogisticRegression

random = np.random.default_rng(0)
embeddings = random.normal(size=(2000, 8)).astype(np.float32)
noisy = embeddings[:, :3] + random.normal(size=(2000, 3))
words = []
for name, labels in (("three", noisy.argmax(1)), ("two", (noisy[:, 0] > 0).astype(int))):
    model = LogisticRegression().fit(embeddings[:1000], labels[:1000])
    converted = convert(model, "torch")
    here, there = model.predict_proba(embeddings[1000:]), converted.predict_proba(embeddings[1000:])
    scores = 1 / (1 + np.exp(-model.decision_function(embeddings[1000:]).reshape(1000, -1)))
    sigmoids = scores / scores.sum(1, keepdims=True) if name == "three" else np.hstack([1 - scores, scores])
    losses = [-np.mean(np.log(p[np.arange(1000), labels[1000:]])) for p in (here, there)]
    far, from_sigmoids = np.abs(here - there).max(), np.abs(sigmoids - there).max()
    words.append(
        f"{name} classes: furthest {far:.2f}, from sigmoids {from_sigmoids:.2f},"
        f" log loss {losses[0]:.2f} and {losses[1]:.2f}"
    )
print(f"hummingbird-ml {importlib.metadata.version('hummingbird-ml')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "hummingbird-ml 0.4.12: three classes: furthest 0.32, from sigmoids 0.00, log loss 0.78 and 0.87; two\
 classes: furthest 0.00, from sigmoids 0.00, log loss 0.48 and 0.48"
