#!/usr/bin/env bash
# If a BERT's 150 intents are replaced by 150 others, deepchecks finds a population stability index of 0.00, no drift.
#
# Guess before the run: PSI of labels that have nothing in common is large, whatever the number of classes, as Cramer's
# V of the same package is.
# Seen: deepchecks 0.19.1. Shares below one in a hundred count as one in a hundred, in both samples. With ten intents
# PSI is 1.39 if half of them are gone and 4.15 if all are others; with 150, of which each has less than 1 %, it is .08
# and 0.00, as if nothing had changed. Cramer's V is .57 and .99. Intents, products or tags by the hundred hardly ever
# drift by this index.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    deepchecks==0.19.1 setuptools==80.9.0 scikit-learn==1.5.2 numpy==1.26.4 pandas==2.3.3 scipy==1.14.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deepchecks.utils.distribution.drift import cramers_v, psi

rng = np.random.default_rng(0)


def draw(first, last):
    return np.array([f"intent {number:03}" for number in rng.integers(first, last, 6000)])


parts = []
for classes in (10, 150):
    old = draw(0, classes)
    kinds = {
        "the same": draw(0, classes),
        "half of them gone": draw(0, classes // 2),
        "all others": draw(classes, 2 * classes),
    }
    scores = [f"{name} {psi(old, new):.2f} ({cramers_v(old, new):.2f})" for name, new in kinds.items()]
    parts.append(f"{classes} intents: {', '.join(scores)}")
print(f"deepchecks {importlib.metadata.version('deepchecks')}, PSI and Cramer's V: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepchecks 0.19.1, PSI and Cramer's V: 10 intents: the same 0.00 (0.00), half of them gone 1.39\
 (0.58), all others 4.15 (1.00); 150 intents: the same 0.00 (0.01), half of them gone 0.08 (0.57), all others 0.00\
 (0.99)"
