#!/usr/bin/env bash
# AutoKeras predicts strings for whole numbers other than 0 and 1: compared with the labels it was given, all are wrong.
#
# Guess before the run: `predict` returns classes as `fit` was given them, so that `np.mean(model.predict(x).flatten()
# == y)` is the accuracy that `evaluate` says.
# Seen: autokeras 3.0.0 with Keras 3.10.0 on JAX. On the rows that it was trained with `evaluate` says 1.0 for each of
# three kinds of labels. The comparison says 1.0 only for 0 and 1, whose predictions are numbers. For 1 and 2, and for 0
# to 2, the predictions are strings, "1", as the encoder makes strings of all labels and keeps them: NumPy says without
# an error that no string is a number, 0.0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.10.0 keras-tuner==1.4.8 jax==0.10.2 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 six==1.17.0 \
    dm-tree==0.1.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    autokeras==3.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import autokeras
import keras
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(400, 4)).astype("float32")
x += 3 * np.sign(x)


def run(name, labels):
    inputs = autokeras.Input()
    outputs = autokeras.DenseBlock(num_layers=1, num_units=32, use_batchnorm=False, dropout=0.0)(inputs)
    outputs = autokeras.ClassificationHead(dropout=0.0)(outputs)
    model = autokeras.AutoModel(inputs, outputs, max_trials=1, directory=sys.argv[1], project_name=name, seed=1)
    keras.utils.set_random_seed(0)
    model.fit(x, labels, epochs=20, verbose=0)
    predicted = model.predict(x, verbose=0).flatten()
    said, real = model.evaluate(x, labels, verbose=0)[1], np.mean(predicted == labels)
    return f"{name} {predicted.dtype.kind}, evaluate {said:.1f}, compared {real:.1f}"


two = (x[:, 0] > 0).astype(int)
three = two + (x[:, 0] > 0) * (x[:, 1] > 0)
parts = [run("0 and 1", two), run("1 and 2", two + 1), run("0 to 2", three)]
print(f"autokeras {importlib.metadata.version('autokeras')}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "autokeras 3.0.0: 0 and 1 f, evaluate 1.0, compared 1.0; 1 and 2 U, evaluate 1.0, compared 0.0; 0 to 2\
 U, evaluate 1.0, compared 0.0"
