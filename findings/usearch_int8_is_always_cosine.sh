#!/usr/bin/env bash
# The inner product and the Euclidean distance of int8 vectors in usearch are those of the cosine: lengths are lost.
#
# Guess before the run: Index(metric="ip", dtype="i8") ranks the documents of a dot-product retriever, whose vectors
# differ in length, as f32 does, but for what 8 bits round: nearly as well as bf16, which keeps 8 bits too.
# Seen: usearch 2.26.6, exact search. Each vector is divided by its length before it is made int8, whatever the metric:
# ten times as long a vector has the same distances. The first of 2,000 documents is that of the inner product for 21 %
# of the queries (f32 100, bf16 99) and that of the cosine for 90; of the Euclidean distance it is 14 and 88 %.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    usearch==2.26.6 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from usearch.index import Index

random = np.random.default_rng(0)
documents = random.normal(size=(2000, 64)) * random.uniform(0.5, 2, (2000, 1))
queries = random.normal(size=(200, 64))
lengths = np.linalg.norm(documents, axis=1)
scores = {
    "ip": queries @ documents.T,
    "l2sq": 2 * queries @ documents.T - lengths**2,
    "cos": queries @ documents.T / lengths,
}
best = {name: some.argmax(axis=1) for name, some in scores.items()}


def found(metric, dtype, times=1):
    index = Index(ndim=64, metric=metric, dtype=dtype)
    index.add(np.arange(2000), (times * documents).astype("float32"))
    return index.search(queries.astype("float32"), 1, exact=True)


parts = []
for metric in ("ip", "l2sq"):
    for dtype in ("f32", "bf16", "i8"):
        keys = found(metric, dtype).keys[:, 0]
        parts.append(f"{metric} {dtype} {np.mean(keys == best[metric]):.2f} {np.mean(keys == best['cos']):.2f}")
same = all((found(metric, "i8").distances == found(metric, "i8", 10).distances).all() for metric in ("ip", "l2sq"))
print(
    f"usearch {importlib.metadata.version('usearch')}, first document of the metric and of the cosine:",
    f"{', '.join(parts)}; ten times as long, i8 has the same distances: {same}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "usearch 2.26.6, first document of the metric and of the cosine: ip f32 1.00 0.21, ip bf16 0.99 0.21,\
 ip i8 0.21 0.90, l2sq f32 1.00 0.14, l2sq bf16 1.00 0.14, l2sq i8 0.14 0.88; ten times as long, i8 has the same\
 distances: True"
