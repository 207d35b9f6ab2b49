#!/usr/bin/env bash
# MMR of LlamaIndex compares with the last result only: copies come back in turn, and at 0 what is stored first wins.
#
# Guess before the run: the maximal marginal relevance of a text is its similarity with the query less the largest
# similarity with any result that is chosen already; the first result is the most similar text, as in LangChain.
# Seen: llama-index-core 0.14.25, langchain-core 1.8.3. A text is discounted by its similarity with the result just
# before it and no other: after a text on one side and one on the other, a copy of the first is no longer redundant, and
# the results go to and fro between copies. Of three copies of each of two texts and a third text that is about
# something else LangChain's first three results are the different ones, and LlamaIndex's first four are two copies of
# each. With `mmr_threshold=0` all first scores are 0 and the text that was added first wins, whatever was asked.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    llama-index-core==0.14.25 langchain-core==1.8.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from langchain_core.vectorstores.utils import maximal_marginal_relevance
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings

vectors = {"x": [0.1, 0.1, -1.0], "a1": [1.0, 0, 0], "a2": [1.0, 0.01, -0.01], "a3": [1.0, -0.01, -0.02]}
vectors |= {"b1": [0, 0.99, 0], "b2": [0.01, 0.98, 0], "b3": [0, 0.97, -0.01], "c": [0, 0, 1.0]}
names = list(vectors)
vectors = [[one / np.linalg.norm(vector) for one in vector] for vector in vectors.values()]
query = [1.0, 0.99, 0.6]
words = []
for value in (0.6, 0.5, 0.0):
    _, found = get_top_k_mmr_embeddings(query, vectors, similarity_top_k=4, embedding_ids=names, mmr_threshold=value)
    other = maximal_marginal_relevance(np.array(query), vectors, lambda_mult=value, k=4)
    words.append(f"{value} {' '.join(found)} ({' '.join(names[one] for one in other)})")
print(
    f"llama-index-core {importlib.metadata.version('llama-index-core')}, results of MMR (and langchain-core's):",
    ", ".join(words),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "llama-index-core 0.14.25, results of MMR (and langchain-core's): 0.6 a2 b1 a1 b2 (a2 b1 c b2), 0.5 a2 \
b1 a1 b2 (a2 b1 c b2), 0.0 x c a3 b1 (a2 c b1 x)"
