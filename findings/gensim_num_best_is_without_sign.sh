#!/usr/bin/env bash
# The five nearest sentences that gensim's indexes return with `num_best=5` begin with the two most opposite ones.
#
# Guess before the run: `num_best` keeps the five highest cosines of those that are returned without it.
# Seen: gensim 4.4.0. Of 1,000 random sentence vectors the best have cosines from .62 to .56. With num_best=5 a search
# returns -.69, -.69, .62, .62 and -.60, in this order: it takes the largest without their signs. MatrixSimilarity and
# SparseMatrixSimilarity do the same. Counts of words, for which the indexes were made, have no negative cosines.
# Vectors of LSI, of Doc2Vec and of BERT have them. Leave num_best out, and sort.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gensim==4.4.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import gensim
import numpy as np
from gensim import matutils, similarities

rng = np.random.default_rng(0)
vectors = rng.normal(size=(1000, 16))  # of sentences
query = rng.normal(size=16)
rows = [matutils.full2sparse(row) for row in vectors]
for kind in (similarities.MatrixSimilarity, similarities.SparseMatrixSimilarity):
    index = kind(rows, num_features=16)
    scores = index[matutils.full2sparse(query)]
    index.num_best = 5
    found = index[matutils.full2sparse(query)]
    print(
        f"gensim {gensim.__version__} {kind.__name__}:",
        f"best {' '.join(f'{score:.2f}' for score in np.sort(scores)[:-6:-1])},",
        f"num_best=5 {' '.join(f'{score:.2f}' for _, score in found)}",
    )
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "gensim 4.4.0 MatrixSimilarity: best 0.62 0.62 0.60 0.57 0.56, num_best=5 -0.69 -0.69 0.62 0.62 -0.60
gensim 4.4.0 SparseMatrixSimilarity: best 0.62 0.62 0.60 0.57 0.56, num_best=5 -0.69 -0.69 0.62 0.62 -0.60"
