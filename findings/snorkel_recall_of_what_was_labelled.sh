#!/usr/bin/env bash
# The recall and the F1 of a model that leaves nine of ten positive texts without a label are 1.00 in snorkel's Scorer.
#
# Guess before the run: `abstain_label` is "the gold label for which examples will be ignored"; a text of the test set
# for which the model says nothing, -1, is one that it has not found.
# Seen: snorkel 0.10.0. Texts without a prediction are ignored as well, in every metric but coverage: of 300 positive
# texts about a tenth get a label, and precision, recall, F1 and accuracy are all 1.00 beside a coverage of .09. Of all
# texts the recall is .11, F1 .19 and the accuracy .09. Of two models, or labelling functions before a BERT, the one
# that says less has the higher recall.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 pandas==2.3.3 scikit-learn==1.9.1 scipy==1.17.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    snorkel==0.10.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from snorkel.analysis import Scorer
from sklearn import metrics

rng = np.random.default_rng(0)
golds = (np.arange(1000) < 300).astype(int)
found = rng.random(1000) < 0.1
predictions = np.where((golds == 1) & found, 1, -1)
predictions[(golds == 0) & found] = 0
names = ["precision", "recall", "f1", "accuracy", "coverage"]
parts = []
for label in (-1, None):
    if label is None:
        own = {
            "recall": metrics.recall_score(golds == 1, predictions == 1),
            "f1": metrics.f1_score(golds == 1, predictions == 1),
            "accuracy": np.mean(golds == predictions),
        }
        parts.append("of all texts " + ", ".join(f"{name} {value:.2f}" for name, value in own.items()))
    else:
        scores = Scorer(metrics=names, abstain_label=label).score(golds, predictions)
        parts.append(", ".join(f"{name} {scores[name]:.2f}" for name in names))
print(f"snorkel {importlib.metadata.version('snorkel')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "snorkel 0.10.0: precision 1.00, recall 1.00, f1 1.00, accuracy 1.00, coverage 0.09; of all texts\
 recall 0.11, f1 0.19, accuracy 0.09"
