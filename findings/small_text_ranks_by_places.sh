#!/usr/bin/env bash
# Which texts of several labels small-text has annotated next depends on their order: of 20 it asks for, 4 stay.
#
# Guess before the run: CategoryVectorInconsistencyAndRanking gives a text a score that follows from its
# probabilities and from the labels known so far, as in the paper on CVIRS, so that the same 20 texts are chosen
# wherever they lie in the pool.
# Seen: small-text 1.4.1. The rank of a text among the others is taken from `argsort`, which has, at the place of the
# text, the number of another one; so the score belongs to whatever text that is. Its second factor is the Hamming
# distance alone: the entropy distance of the paper is computed and not used. Twice the same text has two scores.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    small-text==1.4.1 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from scipy.sparse import csr_matrix
from small_text import LeastConfidence
from small_text.query_strategies.multi_label import CategoryVectorInconsistencyAndRanking

random = np.random.default_rng(0)
probabilities = random.random((200, 5))
known = csr_matrix(random.integers(0, 2, (20, 5)))
pool = np.arange(200)


class Classifier:
    def predict_proba(self, rows):
        return rows


def chosen(strategy, order):
    places = strategy.query(Classifier(), probabilities[order], pool, np.array([], int), known, n=20)
    return set(order[places].tolist())


def common(strategy):
    return len(chosen(strategy, pool) & chosen(strategy, random.permutation(pool)))


print(
    f"small-text {importlib.metadata.version('small-text')}, of 20 texts those of another order:",
    f"least confidence {common(LeastConfidence())},",
    f"CVIRS {common(CategoryVectorInconsistencyAndRanking(pbar=None))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "small-text 1.4.1, of 20 texts those of another order: least confidence 20, CVIRS 4"
