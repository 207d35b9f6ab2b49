#!/usr/bin/env bash
# The best hit has the lowest "score" in sentence-transformers' search over usearch, and the highest if it rescores.
#
# Guess before the run: `semantic_search_usearch` returns the scores that `semantic_search_faiss` returns for the same
# vectors, cosines of normalized ones, highest first, at every precision of the corpus.
# Seen: sentence-transformers 6.2.0, usearch 2.26.6, faiss-cpu 1.15.1. Over FAISS all scores fall along the hits. Over
# usearch those of a float32 corpus are distances, 1 - cosine: a copy of the query has 0.00, and what is
# sorted or cut by "score" afterwards begins with the worst. Of an int8 corpus they are similarities where the candidates
# are scored again (`rescore=True`), and 1 minus a sum of products of int8 where not. The order of the hits is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6 \
    usearch==2.26.6 faiss-cpu==1.15.1
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
from sentence_transformers.util.quantization import quantize_embeddings, semantic_search_faiss, semantic_search_usearch

corpus = np.random.default_rng(0).normal(size=(500, 64)).astype("float32")
corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
queries = corpus[:20]
ranges = np.array([corpus.min(0), corpus.max(0)])


def compare(search, precision, rescore):
    """Returns the scores of the first and the tenth hit of the queries, copies of documents, and how they go."""
    documents = corpus if precision == "float32" else quantize_embeddings(corpus, precision, ranges=ranges)
    options = {} if precision == "float32" else {"ranges": ranges}
    hits, _ = search(
        queries,
        corpus_embeddings=documents,
        corpus_precision=precision,
        top_k=10,
        rescore=rescore,
        exact=True,
        **options,
    )
    assert all(found[0]["corpus_id"] == number for number, found in enumerate(hits))
    steps = np.diff([[hit["score"] for hit in found] for found in hits])
    way = "fall" if (steps <= 0).all() else "rise" if (steps >= 0).all() else "mixed"
    return f"{abs(hits[0][0]['score']):.2f} {way}" if precision == "float32" or rescore else way


over_faiss = compare(semantic_search_faiss, "float32", False)
words = [
    f"{name} {compare(semantic_search_usearch, precision, rescore)}"
    for name, precision, rescore in (("float32", "float32", False), ("int8", "int8", False), ("rescored", "int8", True))
]
print(f"FAISS: float32 {over_faiss}; usearch:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "FAISS: float32 1.00 fall; usearch: float32 0.00 rise, int8 rise, rescored 1.00 fall"
