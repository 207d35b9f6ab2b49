#!/usr/bin/env bash
# KerasTuner's SklearnTuner drops the weights of texts where it trains a model, and takes them where it scores it.
#
# Guess before the run: `tuner.search(X, y, sample_weight=weights)` gives the weights to `fit` of each model that has
# them, as LogisticRegression and Ridge, and to its score.
# Seen: keras-tuner 1.4.8 with Scikit-learn 1.9.1. Half of the labels are wrong and have a weight of 0. The model that
# the tuner keeps has a coefficient of -.1, with weights and without; fitted by Scikit-learn itself on the same texts
# with their weights it has 4.3. Its score of .22 is weighted, and so that of a model which has learned from wrong
# labels. The tuner looks for `sample_weight` among the arguments of `fit`, which Scikit-learn wraps, and finds
# `estimator` alone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras-tuner==1.4.8 keras==3.15.1 jax==0.10.2 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import keras_tuner
import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit

random = np.random.default_rng(0)
x = random.normal(size=(400, 1))
right = (x[:, 0] > 0).astype(int)
# Half of the labels are turned round, and have a weight of 0.
wrong = np.arange(400) % 2 == 1
y = np.where(wrong, 1 - right, right)
weights = np.where(wrong, 0.0, 1.0)
split = ShuffleSplit(1, test_size=0.25, random_state=0)


def build(parameters):
    return LogisticRegression(C=parameters.Choice("C", [1.0]))


def search(name, sample_weight):
    tuner = keras_tuner.SklearnTuner(
        keras_tuner.oracles.RandomSearchOracle(keras_tuner.Objective("score", "max"), max_trials=1),
        build, cv=split, directory=sys.argv[1], project_name=name,
    )
    tuner.search(x, y, sample_weight=sample_weight)
    score = tuner.oracle.get_best_trials()[0].score
    return f"coefficient {tuner.get_best_models()[0].coef_[0, 0]:.1f} score {score:.2f}"


rows = next(split.split(x))[0]
alone = LogisticRegression().fit(x[rows], y[rows], sample_weight=weights[rows])
print(
    f"keras-tuner {importlib.metadata.version('keras-tuner')}, scikit-learn {sklearn.__version__}:",
    f"without weights {search('without', None)}, with weights {search('with', weights)};",
    f"Scikit-learn alone {alone.coef_[0, 0]:.1f}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-tuner 1.4.8, scikit-learn 1.9.1: without weights coefficient -0.1 score 0.43, with weights\
 coefficient -0.1 score 0.22; Scikit-learn alone 4.3"
