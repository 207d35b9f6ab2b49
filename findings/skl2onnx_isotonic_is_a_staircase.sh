#!/usr/bin/env bash
# Isotonic calibration in an ONNX model of skl2onnx takes the nearest knot, where scikit-learn interpolates between two.
#
# Guess before the run: `CalibratedClassifierCV(method="isotonic")` interpolates between the points it has learned,
# and its ONNX model has the same probabilities within rounding.
# Seen: skl2onnx 1.20.0. The ONNX model looks for the learned point that is nearest to a score and takes its
# probability: of 2,000 texts 23 of 100 probabilities differ by more than .01, up to .08, and scikit-learn's 922
# different probabilities are 68. So texts tie that were ranked. Calibration by a sigmoid is the same in both.
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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression

random = np.random.default_rng(0)
embeddings = random.normal(size=(2200, 8)).astype(np.float32)
labels = (embeddings[:, 0] + 0.5 * random.normal(size=2200) > 0).astype(int)
train, test = embeddings[:200], embeddings[200:]
words = []
for method in ("isotonic", "sigmoid"):
    model = CalibratedClassifierCV(LogisticRegression(), method=method).fit(train, labels[:200])
    session = onnxruntime.InferenceSession(
        to_onnx(model, test[:1], options={id(model): {"zipmap": False}}).SerializeToString()
    )
    here, there = model.predict_proba(test)[:, 1], session.run(None, {"X": test})[1][:, 1]
    far = np.abs(here - there)
    words.append(
        f"{method}: {np.mean(far > 0.01):.3f} of probabilities differ by more than .01, at most {far.max():.2f};"
        f" {len(np.unique(here.round(6)))} and {len(np.unique(there.round(6)))} different ones"
    )
print(f"skl2onnx {importlib.metadata.version('skl2onnx')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "skl2onnx 1.20.0: isotonic: 0.232 of probabilities differ by more than .01, at most 0.08; 922 and 68\
 different ones; sigmoid: 0.000 of probabilities differ by more than .01, at most 0.00; 1998 and 1998 different ones"
