#!/usr/bin/env bash
# With label smoothing KerasCV's focal loss gives right labels the weight of wrong ones: alpha is 1 - alpha for all.
#
# Guess before the run: `FocalLoss(alpha=.9, label_smoothing=.1)` weights positive labels by .9 and negative ones by .1,
# as without smoothing.
# Seen: KerasCV 0.9.0, Keras 3.15.1 on JAX 0.10.2. A label is positive if it equals 1, and it is asked after smoothing,
# which makes it .95: no label is positive any more. A positive label that the model gives .5 costs .156 without
# smoothing and .017 with it, nine times less; a negative one costs .017 in both. Where positive labels are rare, which
# alpha is for, they count as little as all the others.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-cv==0.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

import keras
import numpy as np

package = importlib.metadata.distribution("keras-cv")
for name in ("keras_cv", "keras_cv.src", "keras_cv.src.api_export", "keras_cv.src.backend"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["keras_cv.src.api_export"].keras_cv_export = lambda path: lambda part: part
sys.modules["keras_cv.src.backend"].keras = keras
sys.modules["keras_cv.src.backend"].ops = keras.ops
path = package.locate_file("keras_cv/src/losses/focal.py")
spec = importlib.util.spec_from_file_location("focal", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def cost(label, smoothing):
    loss = module.FocalLoss(alpha=0.9, label_smoothing=smoothing)
    return f"{float(loss(np.array([[label]]), np.array([[0.5]], np.float32))):.3f}"


parts = []
for name, label in (("positive", 1.0), ("negative", 0.0)):
    parts.append(f"{name} {cost(label, 0)}, smoothed {cost(label, 0.1)}")
print(f"keras_cv {package.version}, alpha .9, a label of probability .5: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_cv 0.9.0, alpha .9, a label of probability .5: positive 0.156, smoothed 0.017; negative 0.017,\
 smoothed 0.017"
