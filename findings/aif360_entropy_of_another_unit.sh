#!/usr/bin/env bash
# At alpha=0 aif360's entropy of benefits depends on their unit: in cents it is a hundredth of that in dollars.
#
# Guess before the run: `generalized_entropy_index(b, 0)`, "-1/n sum ln(b/mu)", "the mean log deviation", is a measure
# of inequality, and so the same for b and for 100 b, as it is at alpha 1 and 2.
# Seen: aif360 0.6.1. It is divided by the mean once more, which the formula on its page doesn't have. At alpha 1 and 2
# nothing depends on the unit. Of errors, `generalized_entropy_error` with b = prediction - label + 1, this makes a
# classifier seem fairer that says yes more often: of 10,000 texts with 100 false alarms it is off by 1 %, with 5,000 by
# a third. `ClassificationMetric` has the same line.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pandas==3.1.1 matplotlib==3.11.2 aif360==0.6.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from aif360.sklearn.metrics import generalized_entropy_error, generalized_entropy_index

benefits = np.random.default_rng(0).uniform(0.5, 1.5, 10000)
parts = []
for alpha in (0, 1, 2):
    both = [generalized_entropy_index(benefits * unit, alpha) for unit in (1, 100)]
    parts.append(f"alpha {alpha}: {both[0]:.4f} and {both[1]:.4f}")
parts.append(f"mean log deviation {-np.log(benefits / benefits.mean()).mean():.4f}")
labels = np.zeros(10000, int)
for alarms in (100, 5000):
    answers = (np.arange(10000) < alarms).astype(int)
    b = 1.0 + answers - labels
    parts.append(
        f"{alarms} false alarms {generalized_entropy_error(labels, answers, alpha=0):.4f},"
        f" by the formula {-np.log(b / b.mean()).mean():.4f}"
    )
print(f"aif360 {importlib.metadata.version('aif360')}, of b and of 100 b: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "aif360 0.6.1, of b and of 100 b: alpha 0: 0.0455 and 0.0005; alpha 1: 0.0430 and 0.0430; alpha 2:\
 0.0418 and 0.0418; mean log deviation 0.0454; 100 false alarms 0.0030, by the formula 0.0030; 5000 false alarms\
 0.0393, by the formula 0.0589"
