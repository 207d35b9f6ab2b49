#!/usr/bin/env bash
# DeepPavlov's accuracy of several tasks, the share of texts that are right in all, is the mean of tasks: .80 for .51.
#
# Guess before the run: `multitask_accuracy`, "percentage of inputs where the answers for all `n` tasks are correct", of
# three tasks that are each right for 80 of 100 texts is .51 if their errors have nothing to do with each other, as
# `multitask_sequence_accuracy` counts it.
# Seen: deeppavlov 1.7.0. It is the mean of the three accuracies. So a BERT whose errors are all in the same texts and
# one whose errors are in different ones have the same score, and a text counts as right in part.
# `multitask_sequence_accuracy` of the same labels, each text as a sequence of one, is the share that is promised.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 requests==2.34.2 tqdm==4.70.1 filelock==4.3.1 pydantic==2.14.4 fastapi==0.165.0 uvicorn==0.54.0 \
    prometheus-client==0.26.0 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 nltk==3.10.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deeppavlov==1.7.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deeppavlov.metrics.accuracy import multitask_accuracy, multitask_sequence_accuracy

random = np.random.default_rng(0)
labels = random.integers(0, 2, (3, 1000))
parts = []
for name, wrong in (("apart", random.uniform(size=(3, 1000)) < 0.2), ("together", random.uniform(size=1000) < 0.2)):
    predictions = np.where(wrong, 1 - labels, labels)
    right = (predictions == labels).all(axis=0).mean()
    accuracy = multitask_accuracy(*labels.tolist(), *predictions.tolist())
    sequences = multitask_sequence_accuracy(*labels[:, :, None].tolist(), *predictions[:, :, None].tolist())
    parts.append(f"errors {name}: {accuracy:.2f}, as sequences {sequences:.2f}, all right {right:.2f}")
print(f"deeppavlov {importlib.metadata.version('deeppavlov')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deeppavlov 1.7.0, errors apart: 0.79, as sequences 0.49, all right 0.49; errors together: 0.80, as\
 sequences 0.80, all right 0.80"
