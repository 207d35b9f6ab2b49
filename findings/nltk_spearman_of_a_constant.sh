#!/usr/bin/env bash
# A model that gives all pairs one score has a Spearman correlation of -.99 in NLTK, and a good one less by rounding.
#
# Guess before the run: NLTK's `ranks_from_scores`, "suitable for use as an argument to `spearman_correlation`", knows
# ties ("tying with previous key's rank"), and so does the correlation: 0 for a constant.
# Seen: nltk 3.10.4. Equal scores all get the first of their places, and the correlation is computed by the formula for
# ranks without ties. Of one good model, .67, the scores rounded to halves have .64 of .65, whole numbers .61 of .66,
# their signs .26 of .56, and a constant has -.99, as if it had turned the order round. Labels of pairs, as whole
# numbers from 0 to 5, tie as well, and a coarse model seems worse than it is.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    nltk==3.10.4 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from nltk.metrics.spearman import ranks_from_scores, spearman_correlation
from scipy import stats

rng = np.random.default_rng(0)
right = rng.normal(size=200)
good = right + rng.normal(size=200)


def ranks(scores):
    order = sorted(enumerate(scores), key=lambda pair: -pair[1])
    return ranks_from_scores(order)


models = {
    "a good model": good,
    "rounded to halves": np.round(2 * good) / 2,
    "to whole numbers": np.round(good),
    "to its sign": np.sign(good),
    "a constant": np.zeros(200),
}
parts = []
for name, scores in models.items():
    own = np.nan_to_num(stats.spearmanr(scores, right).statistic)
    parts.append(f"{name} {spearman_correlation(ranks(scores), ranks(right)):.2f} of {own:.2f}")
print(f"nltk {importlib.metadata.version('nltk')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nltk 3.10.4: a good model 0.67 of 0.67, rounded to halves 0.64 of 0.65, to whole numbers 0.61 of 0.66,\
 to its sign 0.26 of 0.56, a constant -0.99 of 0.00"
