#!/usr/bin/env bash
# The "uint8" search of sentence-transformers over FAISS finds a copy of the query in 14 of 100 cases, int8 in all.
#
# Guess before the run: vectors of 8 bits, which cost a little accuracy, find for nearly every query the document that
# it is a noisy copy of, whichever of the two indexes holds them.
# Seen: sentence-transformers 6.2.0, faiss-cpu 1.15.1, usearch 2.26.6; exact search in 2,000 vectors of length one,
# whose ranges quantize the queries, too. uint8 over FAISS: 14 of 100 documents are the first found, 43 with a
# rescoring of 20 candidates; int8 over usearch: all. A code is 0 where a unit's range begins, and the inner product
# multiplies codes as they are, so that documents whose codes are large in sum win for every query. Codes from -128 on
# nearly cancel this where ranges are symmetric.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sentence-transformers==6.2.0 transformers==5.23.0 torch==2.13.0 faiss-cpu==1.15.1 usearch==2.26.6 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from sentence_transformers.util import quantization

generator = np.random.default_rng(0)


def normalized(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def search():
    """Returns how many of 100 queries find their document first, by index and with and without rescoring."""
    documents = normalized(generator.normal(size=(2000, 64)))
    queries = normalized(documents[:100] + generator.normal(size=(100, 64)) * 0.05 / np.sqrt(64))
    assert (np.argmax(queries @ documents.T, axis=1) == np.arange(100)).all()
    words = []
    for name, precision in (("faiss", "uint8"), ("usearch", "int8")):
        function = getattr(quantization, f"semantic_search_{name}")
        for rescore in (False, True):
            found, _ = function(
                queries.copy(),
                corpus_embeddings=quantization.quantize_embeddings(documents, precision=precision),
                corpus_precision=precision,
                calibration_embeddings=documents,
                top_k=10,
                rescore=rescore,
                exact=True,
            )
            hits = sum(rows[0]["corpus_id"] == row for row, rows in enumerate(found))
            words.append(f"{precision}{' rescored' * rescore} {hits}")
    return ", ".join(words)


names = ("sentence-transformers", "faiss-cpu", "usearch")
versions = " ".join(importlib.metadata.version(name) for name in names)
print(f"{versions}: {search()}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "6.2.0 1.15.1 2.26.6: uint8 14, uint8 rescored 43, int8 100, int8 rescored 100"
