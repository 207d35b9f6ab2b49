#!/usr/bin/env bash
# A perfect classifier of 100,000 texts has a Matthews correlation of -.72 in calibrax, and class 2 counts for nothing.
#
# Guess before the run: `matthews_corrcoef` of calibrax is 1 for perfect labels, whatever their number is, and that of
# scikit-learn for three classes: its page knows no limit of classes.
# Seen: calibrax 0.1.1. Its numerator is a product of two 32-bit counts, which passes 2³¹ from some 93,000 balanced
# texts on and wraps: perfect labels have 1.00 for 80,000 texts, -.72 for 100,000 and .14 for 200,000. Of three classes
# it counts texts whose label and answer are 0 or 1 only: a model that is right about those and always wrong about class
# 2 has 1.00, where scikit-learn has .61.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 jaxtyping==0.3.11 click==8.5.1 psutil==7.2.2 numpy==2.4.6 \
    scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    calibrax==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import jax.numpy as jnp
import numpy as np
import sklearn.metrics
from calibrax.metrics.functional import matthews_corrcoef

random = np.random.default_rng(0)
parts = []
for number in (80000, 100000, 200000):
    labels = random.integers(0, 2, number)
    parts.append(f"{number} perfect texts {float(matthews_corrcoef(jnp.array(labels), jnp.array(labels))):.2f}")
labels = random.integers(0, 3, 1000)
answers = np.where(labels == 2, 0, labels)
value = float(matthews_corrcoef(jnp.array(answers), jnp.array(labels)))
right = sklearn.metrics.matthews_corrcoef(labels, answers)
parts.append(f"three classes, the last always wrong {value:.2f}, scikit-learn {right:.2f}")
print(f"calibrax {importlib.metadata.version('calibrax')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calibrax 0.1.1: 80000 perfect texts 1.00, 100000 perfect texts -0.72, 200000 perfect texts 0.14, three\
 classes, the last always wrong 1.00, scikit-learn 0.61"
