#!/usr/bin/env bash
# Signed intervals of nonconformist cover 0 % of the labels where 90 % are to be covered, or 95 % by another argument.
#
# Guess before the run: SignErrorErrFunc, y - ŷ ("Signed-error conformal regression"), gives a regression (as of STS-B)
# that errs to one side intervals on that side, which cover 90 % at significance 0.1, as quantiles of the errors do.
# Seen: nonconformist 2.1.0. Its errors are ŷ - y, and their inverse puts each end on the other side: where labels are
# above predictions by an exponential error, none is covered, of predictions 2 too low .01; errors that are alike on
# both sides hide it (.89). With `significance=None`, which returns all levels at once, the one at .1 has another
# width, since one end is used for both sides: .95.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4 scipy==1.14.1 scikit-learn==1.5.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    nonconformist==2.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from nonconformist.base import RegressorAdapter
from nonconformist.icp import IcpRegressor
from nonconformist.nc import AbsErrorErrFunc, RegressorNc, SignErrorErrFunc


class Trained:
    """Of a model that is trained already: its predictions are the inputs."""

    def fit(self, inputs, labels):
        return self

    def predict(self, inputs):
        return inputs[:, 0]


random = np.random.default_rng(0)
inputs = random.normal(size=(4000, 1))
errors = {"normal": random.normal(size=4000), "exponential": random.exponential(size=4000), "2 too low": None}
errors["2 too low"] = 2 + errors["normal"]
first, second = slice(0, 2000), slice(2000, None)
parts = []
for name, error in errors.items():
    labels = inputs[:, 0] + error
    words = []
    for function in (AbsErrorErrFunc, SignErrorErrFunc):
        model = IcpRegressor(RegressorNc(RegressorAdapter(Trained()), function()))
        model.calibrate(inputs[first], labels[first])
        one, all_levels = (model.predict(inputs[second], significance=level) for level in (0.1, None))
        inside = [
            np.mean((labels[second] >= low) & (labels[second] <= high)) for low, high in (one.T, all_levels[..., 9].T)
        ]
        words.append(" ".join(f"{share:.2f}" for share in inside))
    low, high = np.quantile(error[first], [0.05, 0.95])
    words.append(f"{np.mean((error[second] >= low) & (error[second] <= high)):.2f}")
    parts.append(f"{name} {', '.join(words)}")
print(f"nonconformist {importlib.metadata.version('nonconformist')}, labels in 90 % intervals: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nonconformist 2.1.0, labels in 90 % intervals: normal 0.90 0.90, 0.89 0.91, 0.89; exponential 0.91\
 0.91, 0.00 0.95, 0.90; 2 too low 0.90 0.90, 0.01 0.95, 0.89"
