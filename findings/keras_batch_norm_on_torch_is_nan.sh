#!/usr/bin/env bash
# On PyTorch Keras' BatchNormalization of seconds since 1970 is NaN, and of numbers near 10,000 31 times too large.
#
# Guess before the run: `keras.ops.moments` and BatchNormalization, which uses it, give the same on every backend, and
# the variance is never negative.
# Seen: keras 3.15.1 on PyTorch 2.13.0. The variance is the mean of squares less the square of the mean, in float32:
# 10.25 for years whose variance is 10.60, 0 for counts near 10,000 whose variance is .98, so that outputs vary by 31
# instead of 1, and -2.7e11 for seconds since 1970, whose outputs are NaN. On TensorFlow and JAX the variances are
# right. A model that reads such features beside a BERT's vector has outputs on two backends, and NaN on the third.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import numpy as np

rng = np.random.default_rng(0)
features = {
    "years": 2000 + rng.integers(-5, 6, 512),
    "word counts": 10000 + rng.normal(size=512),
    "seconds since 1970": 1.7e9 + rng.normal(size=512) * 3e5,
}
parts = []
for name, values in features.items():
    column = values.astype("float32").reshape(-1, 1)
    _, variance = keras.ops.moments(column, axes=0)
    outputs = keras.ops.convert_to_numpy(keras.layers.BatchNormalization()(column, training=True))
    own = np.var(column.astype("float64"))
    parts.append(f"{name}: variance {float(variance[0]):.4g} of {own:.4g}, outputs vary by {outputs.std():.3f}")
print(f"keras {importlib.metadata.version('keras')} on {keras.backend.backend()}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=torch "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on torch: years: variance 10.25 of 10.6, outputs vary by 1.017; word counts: variance 0\
 of 0.9819, outputs vary by 31.336; seconds since 1970: variance -2.749e+11 of 8.238e+10, outputs vary by nan"
