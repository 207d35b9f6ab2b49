#!/usr/bin/env bash
# One of k-means' clusters of texts is -1, noise, in clusteval, and `max_clust` clusters are never tried.
#
# Guess before the run: `clusteval(cluster="kmeans").fit(vectors)` numbers clusters from 0, as "agglomerative" does,
# and -1 is what belongs to none, as clusteval's own plots and scikit-learn have it; with `max_clust=4`, "smaller or
# equals to max_clust", four clusters are found where there are four.
# Seen: clusteval 2.2.7. Of four clusters of 50 vectors each k-means has the numbers -1, 0, 1 and 2, agglomerative
# clustering 0 to 3: one is subtracted from both, though scikit-learn's k-means begins at 0. Who drops -1 as
# BERTopic's outliers drops a quarter of the texts. With `max_clust=4` three clusters are the most that is tried, and
# two become one, with each method.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    clusteval==2.2.7 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 matplotlib==3.11.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from clusteval import clusteval
from sklearn.datasets import make_blobs

vectors, labels = make_blobs(n_samples=200, centers=4, cluster_std=0.5, random_state=1, n_features=8)
cases = {
    "k-means": {"cluster": "kmeans"},
    "agglomerative": {"cluster": "agglomerative"},
    "max_clust=4": {"cluster": "agglomerative", "max_clust": 4},
    "max_clust=5": {"cluster": "agglomerative", "max_clust": 5},
}
parts = []
for name, options in cases.items():
    result = clusteval(**options).fit(vectors)
    numbers, counts = np.unique(result["labx"], return_counts=True)
    words = " ".join(f"{number}:{count}" for number, count in zip(numbers, counts))
    parts.append(f"{name} {words} (tried up to {result['score']['clusters'].max()})")
print(f"clusteval {importlib.metadata.version('clusteval')}, texts of each number: {', '.join(parts)}")
PYTHON
seen=$(MPLBACKEND=agg "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "clusteval 2.2.7, texts of each number: k-means -1:50 0:50 1:50 2:50 (tried up to 24), agglomerative\
 0:50 1:50 2:50 3:50 (tried up to 24), max_clust=4 0:100 1:50 2:50 (tried up to 3), max_clust=5 0:50 1:50 2:50 3:50\
 (tried up to 4)"
