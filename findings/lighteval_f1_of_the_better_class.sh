#!/usr/bin/env bash
# The F1 of two classes in lighteval is that of the class that is found better: .95 for a BERT that always says no.
#
# Guess before the run: `loglikelihood_f1` of lighteval is the F1 of the positive class, as GLUE has it for MRPC and
# QQP, and `multi_f1_numeric`, "mf1", of three classes the mean of the F1s, as SuperGLUE has it for CB.
# Seen: lighteval 0.13.0. Of 1,000 texts a tenth is positive: always "no" has .95, where the positive class has .00; a
# model that finds half of the positives has .97, and the positive class .67. Of three equally frequent classes always
# the same one has .56, where the macro F1 is .17 and the micro F1 .33: each class is made a question of yes and no,
# and the micro F1 of such a question is its accuracy, right rejections included. A model that is right in half of the
# cases has .67.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lighteval==0.13.0 torch==2.14.1 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from lighteval.metrics.metrics import Metrics
from lighteval.metrics.sample_preparator import LogprobCorpusMetricInput
from sklearn.metrics import f1_score

random = np.random.default_rng(0)


def score(metric, labels, predictions):
    items = [LogprobCorpusMetricInput(golds=int(label), preds=int(guess)) for label, guess in zip(labels, predictions)]
    return metric.value.corpus_level_fn.compute_corpus(items)


labels = (np.arange(1000) < 100).astype(int)
half = labels * (np.arange(1000) < 50)
parts = []
for name, guesses in (("always no", 0 * labels), ("half of the positives", half)):
    own = f1_score(labels, guesses, zero_division=0)
    parts.append(f"{name} {score(Metrics.loglikelihood_f1, labels, guesses):.2f} (positive class {own:.2f})")
labels = np.arange(900) % 3
guesses = np.where(np.arange(900) // 3 % 2, labels, (labels + 1) % 3)
for name, guesses in (("always the first of three", 0 * labels), ("half right", guesses)):
    own = [f1_score(labels, guesses, average=average, zero_division=0) for average in ("macro", "micro")]
    value = score(Metrics.multi_f1_numeric, labels, guesses)
    parts.append(f"{name} {value:.2f} (macro {own[0]:.2f}, micro {own[1]:.2f})")
print(f"lighteval {importlib.metadata.version('lighteval')}: {', '.join(parts)}")
PYTHON
seen=$(HF_HUB_OFFLINE=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lighteval 0.13.0: always no 0.95 (positive class 0.00), half of the positives 0.97 (positive class\
 0.67), always the first of three 0.56 (macro 0.17, micro 0.33), half right 0.67 (macro 0.50, micro 0.50)"
