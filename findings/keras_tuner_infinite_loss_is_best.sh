#!/usr/bin/env bash
# A run whose loss is infinite is the best one for KerasTuner's Bayesian optimization: 15 of 18 trials diverge, not 2.
#
# Guess before the run: `BayesianOptimization` takes an infinite `val_loss`, of a learning rate at which a BERT
# diverges, for a very bad one, and stays away from it.
# Seen: keras-tuner 1.4.8. It sets infinite scores to 0 before it fits its Gaussian process, and that is below every
# loss there is. Where rates above .001 have an infinite loss and others one of 1 or more, 15 of 18 trials are above
# .001, and the best one has a loss of 1.3; with a loss of 20 instead of infinity 2 trials are, and the best one has
# 1.0.
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
import math
import sys
import warnings

import keras_tuner
from keras_tuner.oracles import BayesianOptimizationOracle

warnings.simplefilter("ignore")


def search(diverged):
    """How many of 18 trials have diverged, and the lowest loss; its best rate is .0001."""
    parameters = keras_tuner.HyperParameters()
    parameters.Float("rate", 1e-6, 1.0, sampling="log")
    objective = keras_tuner.Objective("val_loss", "min")
    oracle = BayesianOptimizationOracle(objective, max_trials=18, hyperparameters=parameters, seed=1)
    oracle._set_project_dir(sys.argv[1], str(diverged))
    rates, losses = [], []
    for _ in range(18):
        trial = oracle.create_trial("tuner")
        rates.append(trial.hyperparameters.get("rate"))
        losses.append(diverged if rates[-1] > 0.001 else 1 + (math.log10(rates[-1]) + 4) ** 2)
        oracle.update_trial(trial.trial_id, {"val_loss": losses[-1]})
        trial.status = "COMPLETED"
        oracle.end_trial(trial)
    return f"{sum(rate > 0.001 for rate in rates)} of 18 diverge, lowest loss {min(losses):.1f}"


parts = [f"loss {diverged:g} above .001: {search(diverged)}" for diverged in (math.inf, 20.0)]
print(f"keras-tuner {importlib.metadata.version('keras-tuner')}: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-tuner 1.4.8: loss inf above .001: 15 of 18 diverge, lowest loss 1.3; loss 20 above .001: 2 of 18\
 diverge, lowest loss 1.0"
