#!/usr/bin/env bash
# The maximum calibration error of Fortuna is 115 for 2,000 texts and 6 for 100: it is multiplied by texts, not a share.
#
# Guess before the run: the maximum calibration error is the largest gap between accuracy and confidence of any bin, at
# most 1, and about the same for 100 and for 2,000 texts of one classifier.
# Seen: aws-fortuna 0.2.0. It is 6.0 for 100 texts and 115.4 for 2,000, where the largest gaps are .38 and .34: each is
# multiplied by the number of texts in its bin, and the sum is divided by nothing. As a measure it chooses another bin,
# too, the one with most texts. It can't be held against numbers of papers or of other packages, and of two test sets
# the larger one seems worse. The expected error beside it, .21 for both, is divided and right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.4.35 jaxlib==0.4.35 flax==0.8.5 optax==0.1.9 matplotlib==3.9.4 tqdm==4.70.1 scipy==1.13.1 numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    aws-fortuna==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from fortuna.metric.classification import expected_calibration_error, maximum_calibration_error
from fortuna.metric.classification import compute_counts_confs_accs

random = np.random.default_rng(0)
labels = random.integers(0, 5, 2000)
logits = random.normal(size=(2000, 5))
logits[np.arange(2000), labels] += 2.5


def text(count, temperature):
    probabilities = np.exp(logits[:count] / temperature)
    probabilities /= probabilities.sum(1, keepdims=True)
    arguments = probabilities.argmax(1), probabilities, labels[:count]
    counts, confidences, accuracies = (np.array(part) for part in compute_counts_confs_accs(*arguments))
    gap = np.abs(accuracies - confidences)[counts > 0].max()
    bins = f"largest gap {gap:.2f}"
    return f"{maximum_calibration_error(*arguments):.1f} ({bins}, ECE {expected_calibration_error(*arguments):.2f})"


cases = {"100 texts": (100, 1), "2000": (2000, 1), "2000 at temperature .4": (2000, 0.4), "2000 at .1": (2000, 0.1)}
words = [f"{name} {text(*case)}" for name, case in cases.items()]
print(f"aws-fortuna {importlib.metadata.version('aws-fortuna')}, maximum calibration error: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aws-fortuna 0.2.0, maximum calibration error: 100 texts 6.0 (largest gap 0.38, ECE 0.21), 2000 115.4\
 (largest gap 0.34, ECE 0.21), 2000 at temperature .4 11.5 (largest gap 0.34, ECE 0.02), 2000 at .1 142.7 (largest\
 gap 0.61, ECE 0.09)"
