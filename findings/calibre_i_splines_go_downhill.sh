#!/usr/bin/env bash
# calibre's I-spline calibrator is not monotone (.98 down to .04), its mean calibration error prefers hard answers.
#
# Guess before the run: `ISplineCalibrator` "ensures monotonicity" by I-splines with non-negative coefficients, so that
# for a score that falls with the truth it is flat, as isotonic regression is; a calibration error is near 0 for the
# true chances.
# Seen: calibre 0.4.0 with scikit-learn 1.9.1, 2,000 scores. The basis is of B-splines, whose non-negative combinations
# are any curve above zero: it falls from .98 to .04 where isotonic regression is flat at .5, and goes down and up a
# valley, so that it changes the order of the answers. `mean_calibration_error` is the mean absolute distance of
# probability and label: .34 for the true chances, .25 for their rounding to 0 and 1, whose expected calibration error
# is .25.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    calibre==0.4.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 cvxpy==1.9.3 pandas==3.1.1 matplotlib==3.11.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import calibre
import numpy as np
from sklearn.isotonic import IsotonicRegression

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
scores = rng.random(2000)
grid = np.linspace(0.05, 0.95, 10)
truths = {
    "rises": scores**2,
    "falls": 1 - scores,
    "a valley": 4 * (scores - 0.5) ** 2,
}
found = []
for name, shares in truths.items():
    labels = (rng.random(2000) < shares).astype(float)
    model = calibre.ISplineCalibrator().fit(scores, labels)
    values = model.transform(grid)
    strict = IsotonicRegression().fit(scores, labels).predict(grid)
    found.append(
        f"if the truth {name} from {values[0]:.2f} to {values[-1]:.2f} with {np.diff(values).clip(None, 0).sum():.2f}"
        f" downhill (isotonic {strict[0]:.2f} to {strict[-1]:.2f})"
    )
chances = rng.random(20000)
labels = (rng.random(20000) < chances).astype(float)
hard = (chances > 0.5).astype(float)
errors = [
    f"{name} {calibre.mean_calibration_error(labels, p):.2f} {calibre.expected_calibration_error(labels, p):.2f}"
    for name, p in (("the true chances", chances), ("0 or 1", hard), ("a half", np.full(20000, 0.5)))
]
print(
    f"calibre {importlib.metadata.version('calibre')}: I-splines",
    "; ".join(found) + "; mean and expected calibration error of",
    ", ".join(errors),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calibre 0.4.0: I-splines if the truth rises from 0.00 to 0.96 with 0.00 downhill (isotonic 0.00 to\
 1.00); if the truth falls from 0.98 to 0.04 with -0.94 downhill (isotonic 0.50 to 0.50); if the truth\
 a valley from 0.84 to 0.82 with -0.83 downhill (isotonic 0.25 to 0.77); mean and expected calibration\
 error of the true chances 0.34 0.01, 0 or 1 0.25 0.25, a half 0.50 0.01"
