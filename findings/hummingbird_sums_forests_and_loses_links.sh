#!/usr/bin/env bash
# Hummingbird rates ten times as high with a LightGBM forest of ten trees, and gives logarithms for a Poisson loss.
#
# Guess before the run: A random forest of LightGBM takes the mean of its trees, and what a loss of counts, of roots
# or of probabilities adds after the last tree is in the converted model.
# Seen: hummingbird-ml 0.4.12, LightGBM 4.7.0, scikit-learn 1.9.1. A forest's prediction is the sum of its trees,
# 50.75 for 5.08. After a loss of Poisson or gamma the exponential is missing, of `reg_sqrt` the square, of cross
# entropy the sigmoid, in scikit-learn's histogram trees as in LightGBM's. Nothing is said; the plain regression is
# right.
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
from sklearn.ensemble import HistGradientBoostingRegressor

random = np.random.default_rng(0)
features = random.normal(size=(2000, 5)).astype(np.float32)
ratings = np.clip(features[:, 0] * 2 + 5, 0.1, 9.9)
forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
words = []
for name, options, labels in (
    ("plain", {}, ratings),
    ("forest", forest, ratings),
    ("reg_sqrt", {"reg_sqrt": True}, ratings),
    ("poisson", {"objective": "poisson"}, ratings),
    ("gamma", {"objective": "gamma"}, ratings),
    ("cross_entropy", {"objective": "cross_entropy"}, ratings / 10),
    ("scikit-learn poisson", None, ratings),
):
    if options is None:
        model = HistGradientBoostingRegressor(loss="poisson", max_iter=10)
    else:
        model = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, **options)
    model.fit(features[:1000], labels[:1000])
    converted = convert(model, "torch", test_input=features[:2])
    words.append(f"{name} {model.predict(features[1000:]).mean():.2f} {converted.predict(features[1000:]).mean():.2f}")
version = importlib.metadata.version("hummingbird-ml")
print(f"hummingbird-ml {version}, mean predictions before and after conversion: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "hummingbird-ml 0.4.12, mean predictions before and after conversion: plain 5.03 5.03, forest 5.08\
 50.75, reg_sqrt 4.89 2.19, poisson 5.00 1.60, gamma 4.84 1.52, cross_entropy 0.50 0.01, scikit-learn poisson 5.04\
 1.58"
