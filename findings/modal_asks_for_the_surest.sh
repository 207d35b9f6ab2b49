#!/usr/bin/env bash
# With `random_tie_break=True` modAL's query for texts of several labels returns the text that it is surest of.
#
# Guess before the run: SVM_binary_minimum returns the text with a label nearest to the border (Brinker 2006), and
# random_tie_break only says which one of equal texts; min_confidence returns texts of which the least sure label is
# least sure, as in Esuli and Sebastiani, whose confidence is the distance from the border.
# Seen: modAL-python 0.4.2.1. With `random_tie_break` SVM_binary_minimum is the text that is farthest from all borders:
# the last one of 1,000. min_confidence takes the probability of a label for the confidence: it asks for texts that
# surely lack a label, with a probability below .009.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 pandas==3.1.1 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    modAL-python==0.4.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import numpy as np

# modAL imports torch for its dropout queries, which are not used here.
sys.modules["torch"] = types.SimpleNamespace(Tensor=np.ndarray, device=str)
from modAL.models import ActiveLearner
from modAL.multilabel import SVM_binary_minimum, min_confidence
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

random = np.random.default_rng(0)
sentences = random.normal(size=(200, 8))
labels = (sentences[:, :4] + random.normal(size=(200, 4)) > 0).astype(int)
pool = random.normal(size=(1000, 8))
learner = ActiveLearner(OneVsRestClassifier(LogisticRegression()), X_training=sentences, y_training=labels)
distance = np.abs(learner.estimator.decision_function(pool)).min(axis=1)
place = distance.argsort().argsort() + 1
plain = place[SVM_binary_minimum(learner, pool)]
broken = place[SVM_binary_minimum(learner, pool, random_tie_break=True)[0][0]]
chosen = min_confidence(learner, pool, n_instances=20)[0]
lowest = learner.predict_proba(pool)[chosen].min(axis=1).max()
print(
    f"modAL {importlib.metadata.version('modAL-python')}, of 1000 from the least sure on: binary minimum {plain},",
    f"random ties {broken}; 20 of min_confidence: all have a label of probability below {lowest:.3f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "modAL 0.4.2.1, of 1000 from the least sure on: binary minimum 1, random ties 1000; 20 of\
 min_confidence: all have a label of probability below 0.009"
