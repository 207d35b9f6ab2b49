#!/usr/bin/env bash
# Between two models that are alike evalkit-research finds an effect of .54, "large", and never one below .50.
#
# Guess before the run: the effect size of its `WilcoxonTest`, "the rank-biserial correlation [...] in [-1, 1]", is 0
# for two re-rankers whose scores on 500 queries differ by noise, and has a sign for which one is better.
# Seen: evalkit-research 0.1.0, scipy 1.17.1. It is .54 for the equal ones, whose p is .1, where the formula has -.08;
# .69 for a better re-ranker and .76 for a worse one, where it has .39 and -.52. Twice the smaller sum of ranks is
# divided by n (n + 1) instead of the sum of all ranks, which is half of that, so that 0 to 1 becomes .5 to 1; and the
# smaller sum does not know whose it is. Benchmarks in its docstring call .1 small and .5 large.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    evalkit-research==0.1.0 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from evalkit.metrics.comparison import WilcoxonTest
from scipy.stats import rankdata

random = np.random.default_rng(0)
first = random.random(500)
noise = random.normal(0, 0.1, 500)


def rank_biserial(first, second):
    differences = first - second
    ranks = rankdata(abs(differences))
    return (ranks * np.sign(differences)).sum() / ranks.sum()


parts = []
for name, shift in (("alike", 0.0), ("better", 0.04), ("worse", -0.04)):
    second = first - shift - noise
    result = WilcoxonTest().test(list(first), list(second))
    parts.append(f"{name} {result.effect_size:.2f} for {rank_biserial(first, second):.2f} (p {result.p_value:.2g})")
print(f"evalkit-research {importlib.metadata.version('evalkit-research')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "evalkit-research 0.1.0: alike 0.54 for -0.08 (p 0.1), better 0.69 for 0.39 (p 7.8e-14), worse 0.76 for\
 -0.52 (p 3.5e-24)"
