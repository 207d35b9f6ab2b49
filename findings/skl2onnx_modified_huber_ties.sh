#!/usr/bin/env bash
# A linear classifier with the modified Huber loss has other labels in ONNX: of sure classes skl2onnx takes the first.
#
# Guess before the run: The label of `SGDClassifier(loss="modified_huber")` is the class with the highest score, as in
# scikit-learn, whatever its probabilities are.
# Seen: skl2onnx 1.20.0. The probabilities of this loss are scores that are cut at 0 and 1, so that several classes
# may be sure alike; scikit-learn's label is the highest score, and the ONNX model's the first class of the highest
# probability. Of six classes 66 of 100 labels are right in scikit-learn and 59 in ONNX, with the same probabilities.
# The logistic loss has the same labels.
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
from sklearn.linear_model import SGDClassifier

random = np.random.default_rng(0)
embeddings = random.normal(size=(2000, 16)).astype(np.float32)
classes = (embeddings[:, :6] + 0.3 * random.normal(size=(2000, 6))).argmax(1)
words = []
for loss in ("modified_huber", "log_loss"):
    model = SGDClassifier(loss=loss, random_state=0).fit(embeddings[:1000], classes[:1000])
    model_of_onnx = to_onnx(model, embeddings[:1], options={id(model): {"zipmap": False}})
    session = onnxruntime.InferenceSession(model_of_onnx.SerializeToString())
    labels, probabilities = session.run(None, {"X": embeddings[1000:]})
    same = np.abs(probabilities - model.predict_proba(embeddings[1000:])).max() < 1e-4
    right = [np.mean(x == classes[1000:]) for x in (model.predict(embeddings[1000:]), labels)]
    words.append(f"{loss} {right[0]:.2f} and {right[1]:.2f}, same probabilities {same}")
version = importlib.metadata.version("skl2onnx")
print(f"skl2onnx {version}, accuracy in scikit-learn and ONNX: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0, accuracy in scikit-learn and ONNX: modified_huber 0.66 and 0.59, same probabilities\
 True; log_loss 0.71 and 0.71, same probabilities True"
