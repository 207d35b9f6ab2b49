#!/usr/bin/env bash
# The negative coverage of Fortuna at threshold .9 is .90 where .10 of the texts are surely negative: it counts p <= .9.
#
# Guess before the run: `true_negative_coverage(probs, threshold=0.9)` is the share of texts that a classifier calls
# negative with a probability of .9, those that `true_negative_precision(probs, targets, threshold=0.9)` is about.
# Seen: aws-fortuna 0.2.0. The precision is that of texts with a probability of .1 or less, the coverage that of those
# with .9 or less: .90 of the texts, not .10, and it rises with the threshold, where it has to fall. Whoever reports
# "95 % precision at 90 % coverage" leaves nearly all texts to a classifier that is right about 55 % of them. The
# coverage of the positives is right.
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
from fortuna.conformal import MaxCoverageFixedPrecisionBinaryClassificationCalibrator as Calibrator

random = np.random.default_rng(0)
probabilities = random.uniform(size=2000)
labels = (random.uniform(size=2000) < probabilities).astype(int)
words = []
for threshold in (0.7, 0.8, 0.9):
    chosen = probabilities <= 1 - threshold
    words.append(
        f"{threshold}: precision {Calibrator.true_negative_precision(probabilities, labels, threshold):.2f}"
        f" of {chosen.mean():.2f} of the texts, coverage"
        f" {Calibrator.true_negative_coverage(probabilities, threshold):.2f}"
    )
positive = Calibrator.true_positive_coverage(probabilities, 0.9)
precision = 1 - labels[probabilities <= 0.9].mean()
print(
    f"aws-fortuna {importlib.metadata.version('aws-fortuna')}, negatives at {'; '.join(words)};"
    f" right are {precision:.2f} of those that .9 counts; positives at 0.9: coverage {positive:.2f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aws-fortuna 0.2.0, negatives at 0.7: precision 0.86 of 0.30 of the texts, coverage 0.70; 0.8:\
 precision 0.88 of 0.21 of the texts, coverage 0.79; 0.9: precision 0.95 of 0.10 of the texts, coverage 0.90; right\
 are 0.55 of those that .9 counts; positives at 0.9: coverage 0.10"
