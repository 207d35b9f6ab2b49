#!/usr/bin/env bash
# With relevance_scaling="power" rankerEval's nDCG of the worst ranking is 1.31: it squares grades, and takes one off.
#
# Guess before the run: the "power" scaling of `DCG` and `NDCG` is 2 to the power of the grade, less one, as in the
# usual definition and in scikit-learn's `ndcg_score` of such gains: a wrong document counts 0.
# Seen: rankerEval 0.2.0. It is the square of the grade, less one: wrong documents count -1, grade 1 counts 0. Both
# sums are negative for one right document of five, grade 1, so that the nDCG grows with a worse ranking: 1.00 at the
# first place and 1.31 at the last (by definition .39). With grades 3, 2, 1, 0, 0 the reverse order has .30 instead of
# .48. "identity" is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4 scipy==1.15.3 numba==0.68.1 scikit-learn==1.6.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rankereval==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from rankereval import NDCG, NumericLabels, Rankings
from sklearn.metrics import ndcg_score


def values(grades, order):
    rankings = Rankings.from_ranked_indices([order])
    labels = NumericLabels.from_matrix([grades])
    numbers = [
        NDCG(5, relevance_scaling=scaling, log_base="2").score(labels, rankings).item()
        for scaling in ("power", "identity")
    ]
    scores = np.zeros(5)
    scores[order] = np.arange(5, 0, -1)
    defined = [ndcg_score([gains], [scores]) for gains in (2.0 ** np.array(grades) - 1, grades)]
    return " ".join(f"{number:.2f} ({other:.2f})" for number, other in zip(numbers, defined))


best, worst = [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]
print(
    f"rankerEval {importlib.metadata.version('rankereval')}: power and identity (by definition): grades 1 0 0 0 0:",
    f"best {values([1, 0, 0, 0, 0], best)}, worst {values([1, 0, 0, 0, 0], worst)}; grades 3 2 1 0 0: best",
    f"{values([3, 2, 1, 0, 0], best)}, worst {values([3, 2, 1, 0, 0], worst)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rankerEval 0.2.0: power and identity (by definition): grades 1 0 0 0 0: best 1.00 (1.00) 1.00 (1.00),\
 worst 1.31 (0.39) 0.39 (0.39); grades 3 2 1 0 0: best 1.00 (1.00) 1.00 (1.00), worst 0.30 (0.48) 0.53 (0.53)"
