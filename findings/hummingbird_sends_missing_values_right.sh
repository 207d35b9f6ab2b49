#!/usr/bin/env bash
# Hummingbird sends missing values to the right in every tree of LightGBM or scikit-learn: of such texts none is right.
#
# Guess before the run: A missing value goes where the tree has learned to send it, or Hummingbird refuses the model,
# or the input.
# Seen: hummingbird-ml 0.4.12, LightGBM 4.7.0, scikit-learn 1.9.1. NaN is not less than a threshold, and what the tree
# has learned for missing values is not looked at: of texts without the feature 1.00 are classified rightly before
# conversion and none after it. The others are right. Nothing is said, and both models were trained with missing
# values.
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

import lightgbm
import numpy as np
from hummingbird.ml import convert
from sklearn.ensemble import HistGradientBoostingClassifier

random = np.random.default_rng(0)
features = random.normal(size=(2000, 5)).astype(np.float32)
missing = random.uniform(size=2000) < 0.3
labels = np.where(missing, 0, features[:, 0] > 0).astype(int)
features[missing, 0] = np.nan
words = []
for model in (lightgbm.LGBMClassifier(n_estimators=20, verbose=-1), HistGradientBoostingClassifier(max_iter=20)):
    model.fit(features[:1000], labels[:1000])
    converted = convert(model, "torch", test_input=features[:2])
    parts = []
    for name, rows in (("missing", missing[1000:]), ("there", ~missing[1000:])):
        test, truth = features[1000:][rows], labels[1000:][rows]
        right = [np.mean(predictions == truth) for predictions in (model.predict(test), converted.predict(test))]
        parts.append(f"{name} {right[0]:.2f} and {right[1]:.2f}")
    words.append(f"{type(model).__name__} {', '.join(parts)}")
print(f"hummingbird-ml {importlib.metadata.version('hummingbird-ml')}, accuracy: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "hummingbird-ml 0.4.12, accuracy: LGBMClassifier missing 1.00 and 0.00, there 1.00 and 1.00;\
 HistGradientBoostingClassifier missing 1.00 and 0.00, there 0.99 and 0.99"
