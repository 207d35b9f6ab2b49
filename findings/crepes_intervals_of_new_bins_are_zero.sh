#!/usr/bin/env bash
# A text of a group that had no calibration text gets the interval from 0 to 0 in crepes, and a p-value of 0.
#
# Guess before the run: the interval of a text in a bin that was not there at calibration is infinite, as that of a bin
# with too few texts is, or an error says that it is missing.
# Seen: crepes 0.9.1. A bin of five texts gets an infinite interval, with a warning. A bin of none gets [0, 0], without
# a word, from ConformalRegressor and from ConformalPredictiveSystem, where the prediction is 100: the interval does not
# hold its own prediction. The p-value of the prediction is 0, the strangest there is. A regression of ratings with bins
# by language, or by topic, covers none of the texts of a new one. `predict_int_online` gives -inf and inf.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    crepes==0.9.1 scikit-learn==1.9.1 pandas==3.1.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from crepes import ConformalPredictiveSystem, ConformalRegressor

random = np.random.default_rng(0)
residuals = random.normal(size=305)
bins = np.array(["en"] * 300 + ["de"] * 5)
texts = np.array(["en", "de", "fr"])
predictions = np.full(3, 100.0)


def text(intervals):
    return " ".join(f"{low:.0f}..{high:.0f}" for low, high in intervals)


regressor = ConformalRegressor().fit(residuals, bins=bins)
system = ConformalPredictiveSystem().fit(residuals, bins=bins, seed=0)
p_values = system.predict_p(predictions, predictions, bins=texts)
print(
    f"crepes {importlib.metadata.version('crepes')}, bins of 300, 5 and 0 texts:",
    f"regressor {text(regressor.predict_int(predictions, bins=texts, confidence=0.9))};",
    f"online {text(regressor.predict_int_online(predictions, predictions, bins=texts, confidence=0.9))};",
    f"system {text(system.predict_int(predictions, bins=texts, confidence=0.9))},",
    f"p of the prediction {' '.join(f'{p:.2f}' for p in p_values)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "crepes 0.9.1, bins of 300, 5 and 0 texts: regressor 98..102 -inf..inf 0..0; online 98..102 -inf..inf\
 -inf..inf; system 99..102 -inf..inf 0..0, p of the prediction 0.53 0.29 0.00"
