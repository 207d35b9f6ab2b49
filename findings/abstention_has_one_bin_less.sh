#!/usr/bin/env bash
# The calibration error of abstention has one bin less than it is asked for: with bins=1 every classifier is calibrated.
#
# Guess before the run: `compute_ece(bins=1)` is the difference of mean confidence and accuracy, .90 - .50 = 40 %, of a
# classifier that says .9 and is right in half of the texts.
# Seen: abstention 0.1.3.1. It is 0, for this classifier and for one that is always wrong; bins=2 has one bin, and 40.
# The number is that of the bins' edges: with the usual 15 there are 14 bins, and of mixed confidences the error is
# 13.79 % instead of 13.29, so that the numbers of two papers with "15 bins" are of other bins. (The functions are taken
# out of their file: the package's import wants a part of SciPy that is gone.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    abstention==0.1.3.1
cat > "$folder/program.py" <<'PYTHON'
import ast
import importlib.metadata

import numpy as np

package = importlib.metadata.distribution("abstention")
tree = ast.parse(package.locate_file("abstention/calibration.py").read_text())
tree.body = [part for part in tree.body if getattr(part, "name", "").startswith("compute_ece")]
names = {"np": np}
exec(compile(tree, "calibration.py", "exec"), names)


def error(confidences, right, bins):
    probabilities = np.stack([confidences, 1 - confidences], axis=1)
    return names["compute_ece"](probabilities, np.stack([right, ~right], axis=1).astype(float), bins)


half = np.arange(100) < 50
parts = []
for bins in (1, 2):
    errors = [error(np.full(100, 0.9), right, bins) for right in (half, half & False)]
    parts.append(f"bins={bins}: half right {errors[0]:.0f}, none {errors[1]:.0f}")
random = np.random.default_rng(0)
confidences, right = random.uniform(0.5, 1, 1000), random.random(1000) < 0.75
mixed = ", ".join(f"{bins} {error(confidences, right, bins):.2f}" for bins in (15, 16))
print(f"abstention {package.version}, {'; '.join(parts)}; mixed: {mixed}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "abstention 0.1.3.1, bins=1: half right 0, none 0; bins=2: half right 40, none 90; mixed: 15 13.79, 16\
 13.29"
