#!/usr/bin/env bash
# calibstats finds a small group of texts worse calibrated than a large one in 60 of 60 samples, where both are perfect.
#
# Guess before the run: `ece_difference_test` at .05 finds a difference of two groups that are calibrated alike in about
# 3 of 60 samples, whatever their sizes are; its 95 % interval covers the true difference, 0, in 57.
# Seen: calibstats 0.1.0. With 100 and 2,000 texts whose labels are drawn from the very probabilities it finds one in 60
# of 60, mostly with a p of 0, and the interval never covers 0: the calibration error of few texts is larger by noise
# alone, and a bootstrap of it larger still. Between 1,000 and 1,000 texts it finds none at all, and needs a real
# difference far above the noise. The interval of one error leaves its own estimate out in 18 of 60 samples. A fairness
# check by subgroups of a BERT's texts finds each small group miscalibrated.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    calibstats==0.1.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import calibstats
import numpy as np

rng = np.random.default_rng(0)


def calibrated(size):
    probabilities = rng.uniform(size=size)
    return probabilities, (rng.uniform(size=size) < probabilities).astype(int)


parts = []
for first, second in ((100, 2000), (300, 3000), (1000, 1000)):
    found = covered = 0
    for seed in range(60):
        result = calibstats.ece_difference_test(*calibrated(first), *calibrated(second), n_boot=200, seed=seed)
        found += result.p_value < 0.05
        covered += result.diff_ci[0] <= 0 <= result.diff_ci[1]
    parts.append(f"{first} and {second} texts: {found} of 60 differ, {covered} intervals cover 0")
outside = 0
for seed in range(60):
    interval = calibstats.bootstrap_ci(*calibrated(500), calibstats.ece, n_boot=200, seed=seed)
    outside += not interval.low <= interval.estimate <= interval.high
version = importlib.metadata.version("calibstats")
print(f"calibstats {version}: {'; '.join(parts)}; {outside} of 60 intervals leave their estimate out")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calibstats 0.1.0: 100 and 2000 texts: 60 of 60 differ, 0 intervals cover 0; 300 and 3000 texts: 60 of\
 60 differ, 0 intervals cover 0; 1000 and 1000 texts: 0 of 60 differ, 60 intervals cover 0; 18 of 60 intervals leave\
 their estimate out"
