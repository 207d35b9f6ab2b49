#!/usr/bin/env bash
# NoisyBradleyTerry of crowd-kit follows a gradient of something else: one who always prefers the left is as skilled.
#
# Guess before the run: The fitted skills and biases have the greatest likelihood: of five annotators the one who nearly
# always prefers the left answer has a skill near 0 and a bias near 1.
# Seen: crowd-kit 1.4.2. The gradients of skills and biases are written one place too low, so that each annotator gets
# that of another number, and they are set, not added, so that the last comparison counts alone. Of 2,000 comparisons
# four good annotators and one who says "left" in 95 % are told apart with a numeric gradient of the same likelihood:
# skills of .95 to .98 and of .00. With the package's own gradient the last one has a skill of .69, and two of the good
# ones .70 and .71: that annotator's answers count as much as theirs.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    crowd-kit==1.4.2 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 attrs==26.1.0 nltk==3.9.2 scikit-learn==1.9.1 \
    tqdm==4.70.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
from crowdkit.aggregation import NoisyBradleyTerry
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

rng = np.random.default_rng(0)
quality = rng.normal(size=8)
left = rng.integers(0, 8, 2000)
right = (left + rng.integers(1, 8, 2000)) % 8
worker = rng.integers(0, 5, 2000)
wins = rng.random(2000) < np.where(worker == 4, 0.95, expit(3 * (quality[left] - quality[right])))
label = np.where(wins, left, right)
names = np.array([f"system {i}" for i in range(8)])
data = pd.DataFrame({"worker": worker, "left": names[left], "right": names[right], "label": names[label]})
model = NoisyBradleyTerry(n_iter=1000).fit(data)

arguments = np.stack([left, right, label], 1) + 1, worker, 8, 5, 0.0
loss, gradient = NoisyBradleyTerry._compute_log_likelihood, NoisyBradleyTerry._compute_gradient
start = rng.random(1 + 8 + 10)
error = np.abs(gradient(start, *arguments) - approx_fprime(start, loss, 1e-6, *arguments))
best = minimize(loss, start, args=arguments, method="L-BFGS-B").x
skills, biases = expit(best[14:]), expit(best[9:14])
print(
    f"crowd-kit {importlib.metadata.version('crowd-kit')}: error of the gradient {error[1:9].max():.0f} for systems,",
    f"{error[9:14].max():.0f} for biases, {error[14:].max():.0f} for skills; skills",
    f"{' '.join(f'{model.skills_[i]:.2f}' for i in range(5))}, with a numeric gradient",
    f"{' '.join(f'{skill:.2f}' for skill in skills)}; bias of the last {model.biases_[4]:.2f}, numeric {biases[4]:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "crowd-kit 1.4.2: error of the gradient 57 for systems, 45 for biases, 31 for skills; skills 0.91 0.93\
 0.70 0.71 0.69, with a numeric gradient 0.96 0.95 0.98 0.97 0.00; bias of the last 0.86, numeric 0.94"
