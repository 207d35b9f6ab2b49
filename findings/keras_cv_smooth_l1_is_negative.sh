#!/usr/bin/env bash
# KerasCV's smooth L1 loss is -.39 for an error of .11 with `l1_cutoff=.1`, and training makes small errors larger.
#
# Guess before the run: `SmoothL1Loss(l1_cutoff=.1)` is half of the square below .1 and linear above it, joined at .1,
# as PyTorch's `HuberLoss(delta=.1)` or `SmoothL1Loss(beta=.1)`.
# Seen: KerasCV 0.9.0, Keras 3.15.1 on JAX 0.10.2, PyTorch 2.13.0. Above the cutoff the loss is the error less .5, which
# joins at 1 only. An error of .09 costs .004 and one of .11 costs -.390, so that a similarity of a text pair that is
# .11 off is better than a right one. With a cutoff of 3 there is a step of -2: 2.9 costs 4.21 and 3.1 costs 2.60.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-cv==0.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

import keras
import numpy as np
import torch

package = importlib.metadata.distribution("keras-cv")
for name in ("keras_cv", "keras_cv.src", "keras_cv.src.api_export", "keras_cv.src.backend"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["keras_cv.src.api_export"].keras_cv_export = lambda path: lambda part: part
sys.modules["keras_cv.src.backend"].keras = keras
sys.modules["keras_cv.src.backend"].ops = keras.ops
path = package.locate_file("keras_cv/src/losses/smooth_l1.py")
spec = importlib.util.spec_from_file_location("smooth_l1", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def costs(cutoff, error):
    here = module.SmoothL1Loss(l1_cutoff=cutoff)(np.zeros((1, 1), np.float32), np.full((1, 1), error, np.float32))
    there = torch.nn.HuberLoss(delta=cutoff)(torch.zeros(1), torch.full((1,), error))
    return f"of {error} {float(here):.3f}, Huber {float(there):.3f}"


parts = []
for cutoff, low, high in ((0.1, 0.09, 0.11), (3.0, 2.9, 3.1)):
    parts.append(f"cutoff {cutoff}: {costs(cutoff, low)}; {costs(cutoff, high)}")
print(f"keras_cv {package.version}, errors, {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_cv 0.9.0, errors, cutoff 0.1: of 0.09 0.004, Huber 0.004; of 0.11 -0.390, Huber 0.006; cutoff\
 3.0: of 2.9 4.205, Huber 4.205; of 3.1 2.600, Huber 4.800"
