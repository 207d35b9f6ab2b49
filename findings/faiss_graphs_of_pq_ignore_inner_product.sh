#!/usr/bin/env bash
# `faiss.index_factory(32, "HNSW16,PQ16x4", METRIC_INNER_PRODUCT)` of FAISS searches by Euclid, not by inner product.
#
# Guess before the run: the metric that `index_factory` is given holds for every index that it makes, or an error says
# that it can't be: scores are inner products, and the highest come first.
# Seen: faiss-cpu 1.15.1. The index says that its metric is L2. With vectors of length 1 the order is right, but the
# scores are squared distances, .4 for the best text where the product is .8, and sorted from the smallest: a threshold
# of .7 keeps the texts that are far off. With other lengths, as for encoders that are trained by the dot product, one
# or two of a hundred of the best ten are found, where the codes alone, "PQ16x4", find more than half. "NSG16,PQ16x4" is
# alike. HNSW of plain vectors keeps the metric.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    faiss-cpu==1.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import faiss
import numpy as np

faiss.omp_set_num_threads(1)
random = np.random.default_rng(0)
lengths = random.uniform(1, 3, size=(1550, 1))
vectors = ((random.normal(size=(1550, 32)) + 1) * lengths).astype("float32")
texts, queries = vectors[:1500].copy(), vectors[1500:].copy()
words = []
for name in ("HNSW16,Flat", "PQ16x4", "HNSW16,PQ16x4", "NSG16,PQ16x4"):
    parts = []
    for normalized in (True, False):
        base, asked = texts.copy(), queries.copy()
        if normalized:
            faiss.normalize_L2(base)
            faiss.normalize_L2(asked)
        products = asked @ base.T
        best = np.argsort(-products, 1)[:, :10]
        index = faiss.index_factory(32, name, faiss.METRIC_INNER_PRODUCT)
        index.train(base)
        index.add(base)
        scores, found = index.search(asked, 10)
        recall = np.mean([len(set(one) & set(two)) / 10 for one, two in zip(found, best)])
        digits = 1 if normalized else -1
        first = f"{round(float(scores[:, 0].mean()), digits):g} of {round(float(products.max(1).mean()), digits):g}"
        share = "most" if recall > 0.8 else "half" if recall > 0.3 else "none"
        parts.append(f"{share} found, first score {first}")
    metric = {faiss.METRIC_L2: "L2", faiss.METRIC_INNER_PRODUCT: "IP"}[index.metric_type]
    words.append(f"{name} ({metric}) {parts[0]}, with lengths {parts[1]}")
print(f"faiss-cpu {importlib.metadata.version('faiss-cpu')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "faiss-cpu 1.15.1: HNSW16,Flat (IP) most found, first score 0.8 of 0.8, with lengths most found, first\
 score 310 of 310; PQ16x4 (IP) half found, first score 0.8 of 0.8, with lengths half found, first score 290 of 310;\
 HNSW16,PQ16x4 (L2) half found, first score 0.4 of 0.8, with lengths none found, first score 110 of 310; NSG16,PQ16x4\
 (L2) half found, first score 0.4 of 0.8, with lengths none found, first score 110 of 310"
