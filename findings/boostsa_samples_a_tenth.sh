#!/usr/bin/env bash
# The bootstrap test of boostsa draws a tenth of the test set: a difference that is sure has a p of .11.
#
# Guess before the run: `test`, the bootstrap of Berg-Kirkpatrick et al. (2012) for classifiers of texts, has about the
# p of the exact test for two systems on 1,000 texts, and `sample_size` only says how much is drawn for speed.
# Seen: boostsa 0.2.13, scipy 1.17.1. One system alone answers 60 texts, the other 30: exact .001; boostsa .11 by its
# default of a tenth, which is the p of a test set of 100 texts, and .01 by the largest size that it takes, a half. The
# paper draws as many as there are.
# With soft labels it asks whether a sample's cross-entropy has risen by twice what it has fallen by, "lower is better",
# instead of whether it has fallen by twice: three deviations for one. A difference of p = .104 has .004 by halves;
# by tenths the two errors cancel.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
# It asks for scipy 1.7.3 and for tools of its author's; the test needs these.
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.2.6 pandas==2.3.3 scipy==1.17.1 scikit-learn==1.7.2 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    boostsa==0.2.13
cat > "$folder/program.py" <<'PYTHON'
import contextlib
import importlib.metadata
import io
import re

import numpy as np
from boostsa import Bootstrap
from scipy.stats import binomtest, ttest_rel

random = np.random.default_rng(0)


def p_values(name, right, first, second):
    values = []
    for size in (0.1, 0.5):
        np.random.seed(0)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            Bootstrap(save_results=False, save_outcomes=False).test(right, first, second, n_loops=500, sample_size=size)
        values.append(float(re.search(rf"diff {name} .*p < ([\d.]+)", printed.getvalue())[1]))
    return f"{values[0]:.3f} of a tenth, {values[1]:.3f} of half"


right = random.integers(0, 2, 1000)
first, second = right.copy(), right.copy()
first[:160] = 1 - first[:160]  # the second system alone is right about 60 texts
second[60:190] = 1 - second[60:190]  # and the first one about 30
hard = p_values("acc", right, first, second)
exact = binomtest(30, 90, alternative="less").pvalue
people = random.dirichlet([3, 3, 3], 1000)
second, first = (people + 0.3 * random.dirichlet([1, 1, 1], 1000) for _ in range(2))
first, second = first / 1.3, second / 1.3
losses = [-(people * np.log(shares)).sum(1) for shares in (first, second)]
soft = p_values("ce", people, first, second)
right = ttest_rel(losses[1], losses[0], alternative="less").pvalue
version = importlib.metadata.version("boostsa")
print(f"boostsa {version}: {hard}, exact {exact:.3f}; soft labels {soft}, t-test {right:.3f}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "boostsa 0.2.13: 0.114 of a tenth, 0.012 of half, exact 0.001; soft labels 0.138 of a tenth, 0.004 of\
 half, t-test 0.104"
