#!/usr/bin/env bash
# `calibrate_probs=True` of cleanlab divides logits by 7.25 where 2 is right: calibrated probabilities are nearly alike.
#
# Guess before the run: the temperature that cleanlab finds for probabilities of a model that is twice too sure is about
# 2, and the log loss of the annotators' labels falls.
# Seen: cleanlab 2.9.0. The temperature is 7.25, which makes the log loss .84 where it was .75 before, and .63 at 1.90.
# The largest probability, .87 in the mean, becomes .47. What the annotators say is counted in the first places, in the
# order of the labels that occur: a text that all call class 2 counts as class 0, and the best that can be said of such
# labels is nothing. The quality of the consensus falls from .81 to .68, where .98 are right. Active learning, which
# always looks for a temperature, takes the same one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    cleanlab==2.9.0 numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 tqdm==4.70.1 termcolor==3.3.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from cleanlab.internal.multiannotator_utils import find_best_temp_scaler, temp_scale_pred_probs
from cleanlab.multiannotator import get_label_quality_multiannotator

random = np.random.default_rng(0)
true = random.integers(0, 3, 2000)
logits = random.normal(size=(2000, 3))
logits[np.arange(2000), true] += 2
probabilities = np.exp(2 * logits) / np.exp(2 * logits).sum(1, keepdims=True)
labels = np.where(random.uniform(size=(2000, 3)) < 0.85, true[:, None], random.integers(0, 3, (2000, 3)))
labels = labels.astype(float)


def loss(temperature):
    """The mean log loss of all labels."""
    scaled = temp_scale_pred_probs(probabilities, temperature)
    return -np.log(scaled[np.arange(2000)[:, None], labels.astype(int)]).mean()


def consensus(**options):
    table = get_label_quality_multiannotator(labels, probabilities, verbose=False, **options)["label_quality"]
    right = (table.consensus_label == true).mean()
    return f"{table.consensus_quality_score.mean():.2f} ({right:.2f} right)"


found = find_best_temp_scaler(labels, probabilities)
temperatures = np.linspace(0.1, 8, 159)
best = temperatures[np.argmin([loss(value) for value in temperatures])]
print(
    f"cleanlab {importlib.metadata.version('cleanlab')}: temperature {found:.2f}, by hand {best:.2f};",
    f"log loss before {loss(1):.2f}, calibrated {loss(found):.2f}, by hand {loss(best):.2f};",
    f"largest probability {probabilities.max(1).mean():.2f} becomes",
    f"{temp_scale_pred_probs(probabilities, found).max(1).mean():.2f};",
    f"quality of the consensus {consensus()}, calibrated {consensus(calibrate_probs=True)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "cleanlab 2.9.0: temperature 7.25, by hand 1.90; log loss before 0.75, calibrated 0.84, by hand 0.63;\
 largest probability 0.87 becomes 0.47; quality of the consensus 0.81 (0.98 right), calibrated 0.68 (0.98 right)"
