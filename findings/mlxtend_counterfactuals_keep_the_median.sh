#!/usr/bin/env bash
# Counterfactuals of mlxtend don't move a feature that is near its median: they change another one by 17 deviations.
#
# Guess before the run: `create_counterfactual` measures changes in median absolute deviations of the data, so that of
# two features that count alike the one that varies more is moved: 7.7 of a feature with 6.94, not of one with .61.
# Seen: mlxtend 0.25.0. That is so for a text that is 5 from the median of the wide feature. For one that is .01 from it
# the narrow feature is changed by 10.7, which is more than 17 of its deviations, and the wide one by 0. What the source
# calls the median absolute deviation is the distance of the text itself from the median: the more usual a value is, the
# dearer is each change. What a BERT's score "would need" is said in the wrong feature.
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
from mlxtend.evaluate import create_counterfactual
from scipy.stats import median_abs_deviation

random = np.random.default_rng(0)
data = np.stack([random.normal(0, 10, 501), random.normal(0, 1, 501)], axis=1)
medians = np.median(data, axis=0)


class Model:
    """Positive if the sum of two features is high: a step of the wide one is as good as one of the narrow one."""

    def predict_proba(self, x):
        positive = 1 / (1 + np.exp(-(x.sum(axis=1) - 4)))
        return np.stack([1 - positive, positive], axis=1)


spread = median_abs_deviation(data)
parts = [f"median absolute deviations {spread[0]:.2f} {spread[1]:.2f}"]
for offset in ((5.0, 0.5), (0.01, 2.0), (0.001, 2.0)):
    reference = medians + np.array(offset)
    reference[1] -= 4
    found = create_counterfactual(
        reference, y_desired=1, model=Model(), X_dataset=data, y_desired_proba=1.0, lammbda=1000, random_seed=0
    )
    change = found - reference
    parts.append(f"reference {offset[0]:g} from the median of the wide one: changed by {change[0]:.2f} {change[1]:.2f}")
print(f"mlxtend {importlib.metadata.version('mlxtend')}, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0, median absolute deviations 6.94 0.61; reference 5 from the median of the wide one:\
 changed by 7.68 0.00; reference 0.01 from the median of the wide one: changed by -0.00 10.70; reference 0.001 from\
 the median of the wide one: changed by 0.00 10.71"
