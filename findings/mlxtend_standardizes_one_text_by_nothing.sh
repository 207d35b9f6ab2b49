#!/usr/bin/env bash
# mlxtend standardizes a single text by its mean alone, and forgets the deviations that it has learned for all others.
#
# Guess before the run: `standardize(test, params=parameters)` takes means and deviations of the training texts, so that
# a text that comes alone, as in production, gets the values that it has among others.
# Seen: mlxtend 0.25.0. A hundred texts together have a deviation of 1.00, one by one of 2.00, and then also together of
# 2.00. A column that is constant among the new texts, as each column of a single text is, gets the deviation 1, so that
# only the mean is taken off; and this is written into the parameters that were given: 1.97 is 1.00 for good. A
# classifier of BERT's vectors is given others than it was trained with from the first single text on. Nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mlxtend.preprocessing import standardize

random = np.random.default_rng(0)
train = random.normal(5, 2, size=(1000, 4))
test = random.normal(5, 2, size=(100, 4))
_, parameters = standardize(train, return_params=True)
average, deviation = parameters["avgs"].copy(), parameters["stds"].copy()
expected = (test - average) / deviation
together = standardize(test, params=parameters)
alone = np.concatenate([standardize(test[row : row + 1], params=parameters) for row in range(100)])
after = standardize(test, params=parameters)
parts = [f"{name} {array.std():.2f}" for name, array in (("together", together), ("alone", alone), ("again", after))]
print(
    f"mlxtend {importlib.metadata.version('mlxtend')}, deviation of 100 texts of which {expected.std():.2f} is right:"
    f" {', '.join(parts)}; deviations that were learned {deviation[0]:.2f}, and now {parameters['stds'][0]:.2f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0, deviation of 100 texts of which 1.00 is right: together 1.00, alone 2.00, again 2.00;\
 deviations that were learned 1.97, and now 1.00"
