#!/usr/bin/env bash
# Metrics that are given to a second `compile` of Keras begin with what they counted before it: 100 rows are 150.
#
# Guess before the run: `evaluate` and each epoch of `fit` begin with metrics at zero, also after the second `compile`
# of a training in two stages that is given the same list of metrics.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. Recall counts 50 positives, all of them found, in an evaluation. After a
# second `compile` with the same metrics the next evaluation, of 100 positives of which half are found, reports a recall
# of 0.667 of 150. The one after it is right: 0.5 of 100. On JAX 0.10.2 both are right, and so is an "accuracy"
# by name, which is a new object in each `compile`. `compile` wraps the metrics in an object that knows them from the
# first batch on only, so that the reset before that batch reaches none of them. In `fit` it is the first
# epoch of the second stage that counts the last validation of the first stage, too.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

x = np.where(np.arange(100) % 2 == 0, 1.0, -1.0)[:, None]
dense = keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")
model = keras.Sequential([keras.Input((1,)), dense])
metrics = [
    keras.metrics.Recall(name="recall"),
    keras.metrics.TruePositives(name="found"),
    keras.metrics.FalseNegatives(name="missed"),
]


def evaluation(labels):
    result = model.evaluate(x, labels, verbose=0, return_dict=True)
    return f"{result['recall']:.3f} of {result['found'] + result['missed']:g}"


words = []
model.compile("sgd", "mse", metrics=metrics)
# 50 positives: the model finds all of them.
words.append(evaluation(x > 0.0))
model.compile("sgd", "mse", metrics=metrics)
# 100 positives: the model finds half of them.
words += [evaluation(x < 2.0), evaluation(x < 2.0)]
print(f"keras {keras.__version__}: recall", ", ".join(words))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: recall 1.000 of 50, 0.667 of 150, 0.500 of 100"
