#!/usr/bin/env bash
# A Keras model whose scores are NaN has a top-2 accuracy of .38 on JAX, as by chance, and labels of -1 count as hits.
#
# Guess before the run: `in_top_k` and SparseTopKCategoricalAccuracy say the same on every backend: a label that no
# class has is never among the best, and neither is one whose neighbours are NaN.
# Seen: keras 3.15.1. Of 1,000 random scores of five classes .38 are right in both. If 600 labels are -1 TensorFlow
# 2.20.0 has .16 and JAX 0.10.2 .41: -1 is its last class, counted from the end. If the score of the first class is NaN,
# as after a training that diverged, TensorFlow has .00 and JAX .38, as if nothing were wrong. On PyTorch -1 is the last
# class, too. Runs on two backends can't be compared, nor be stopped by this metric.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 tensorflow-cpu==2.20.0 jax==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import subprocess
import sys

import numpy as np

if len(sys.argv) < 3:
    words = []
    for backend in ("tensorflow", "jax"):
        environment = os.environ | {"KERAS_BACKEND": backend}
        command = [sys.executable, __file__, *sys.argv[1:], backend]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        words.append(f"{backend} {done.stdout.splitlines()[-1]}")
    print(f"keras {importlib.metadata.version('keras')}: {'; '.join(words)}")
    sys.exit()

import keras  # The backend is known only now.

rng = np.random.default_rng(0)
scores = rng.random((1000, 5)).astype("float32")
labels = rng.integers(0, 5, 1000)
padded = np.where(np.arange(1000) < 600, -1, labels)
diverged = np.where(np.arange(5) == 0, np.nan, scores).astype("float32")
parts = []
for name, y_true, y_pred in (("text", labels, scores), ("padding", padded, scores), ("nan", labels, diverged)):
    metric = keras.metrics.SparseTopKCategoricalAccuracy(k=2)
    metric.update_state(y_true, y_pred)
    parts.append(f"{name} {float(metric.result()):.2f}")
hits = keras.ops.in_top_k(np.array([-1]), np.array([[0.1, 0.2, 0.3]], "float32"), 1)
parts.append(f"in_top_k of -1 {bool(keras.ops.convert_to_numpy(hits)[0])}")
print(*parts, sep=", ")
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: tensorflow text 0.38, padding 0.16, nan 0.00, in_top_k of -1 False; jax text 0.38,\
 padding 0.41, nan 0.38, in_top_k of -1 True"
