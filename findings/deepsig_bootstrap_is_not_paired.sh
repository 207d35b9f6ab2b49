#!/usr/bin/env bash
# The "paired bootstrap test" of deepsig draws the examples of the two systems apart: what is sure has a p of 0.15.
#
# Guess before the run: `bootstrap_test`, an "implementation of paired bootstrap test" for scores "of same length",
# resamples examples, each with the scores of both systems, as Berg-Kirkpatrick et al. (2012) do, whose rule of twice
# the difference it has: of two classifiers on one test set it agrees with McNemar's test.
# Seen: deepsig 1.2.8. The examples of A are drawn without regard to those of B. A is right wherever B is, in 700 of
# 1,000 sentences, and in 20 more: p is 0.15. With the same draws for both it is 0.00, as by deepsig's own
# `permutation_test`, which swaps pairs; McNemar's is 0.000001 (one-sided). Most errors of two BERTs are shared, so that
# such a test hardly finds any difference.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    deepsig==1.2.8 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from deepsig import bootstrap_test, permutation_test
from scipy.stats import binomtest

b = np.arange(1000) < 700
a = np.arange(1000) < 720
a, b = a.astype(float), b.astype(float)
theirs = bootstrap_test(a, b, num_samples=2000, seed=1)
swapped = permutation_test(a, b, num_samples=2000, seed=1)
generator = np.random.default_rng(1)
rows = generator.integers(0, 1000, (2000, 1000))
differences = (a - b)[rows].mean(axis=1)
paired = np.mean(differences >= 2 * (a - b).mean())
mcnemar = binomtest(20, 20, alternative="greater").pvalue
print(
    f"deepsig {importlib.metadata.version('deepsig')}: bootstrap_test {theirs:.2f}, permutation_test {swapped:.2f}; "
    f"same draws {paired:.2f}, McNemar {mcnemar:.6f}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepsig 1.2.8: bootstrap_test 0.15, permutation_test 0.00; same draws 0.00, McNemar 0.000001"
