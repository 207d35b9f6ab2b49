#!/usr/bin/env bash
# With `metric="cosine"` clusteval chooses the number of clusters by Euclid: of four directions two are left.
#
# Guess before the run: `clusteval(metric="cosine", linkage="average", evaluate="silhouette")` takes the number of
# clusters whose silhouette by the cosine is the best, so that the lengths of vectors of texts do not count: four of
# four directions.
# Seen: clusteval 2.2.7. Of unit vectors it finds four, silhouette .68 (by the cosine .90). If the same vectors have
# lengths that vary by a factor of about 3, it finds two: the joins are the same, but the silhouette, and the
# Davies-Bouldin index likewise, is Euclidean whatever the metric is. The cosine silhouette is .90 for four in all
# cases. Vectors of a BERT's mean that are not normalized are of this kind.
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
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import silhouette_score

random = np.random.default_rng(0)
centers = random.normal(size=(4, 16))
centers /= np.linalg.norm(centers, axis=1, keepdims=True)
vectors = centers[np.repeat(range(4), 50)] + 0.08 * random.normal(size=(200, 16))
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
spread = random.normal(size=(200, 1))
parts = []
for name, factor in (("unit vectors", 0.0), ("lengths vary", 1.2), ("vary more", 1.6)):
    stretched = vectors * np.exp(factor * spread)
    result = clusteval(metric="cosine", linkage="average").fit(stretched)
    tree = linkage(stretched, "average", "cosine")
    own = {k: silhouette_score(stretched, fcluster(tree, k, "maxclust"), metric="cosine") for k in range(2, 8)}
    best = max(own, key=own.get)
    scores = result["score"].set_index("clusters")["score"]
    found = len(np.unique(result["labx"]))
    parts.append(f"{name}: {found} clusters (of four {scores[4]:.2f}), by the cosine {best} ({own[4]:.2f})")
print(f"clusteval {importlib.metadata.version('clusteval')}: {'; '.join(parts)}")
PYTHON
seen=$(MPLBACKEND=agg "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "clusteval 2.2.7: unit vectors: 4 clusters (of four 0.68), by the cosine 4 (0.90); lengths vary: 2\
 clusters (of four 0.11), by the cosine 4 (0.90); vary more: 2 clusters (of four -0.05), by the cosine 4 (0.90)"
