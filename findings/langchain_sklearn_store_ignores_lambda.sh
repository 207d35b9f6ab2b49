#!/usr/bin/env bash
# `lambda_mult` and `filter` of LangChain's SKLearnVectorStore do nothing: results for 2025 are of 2024, unwarned.
#
# Guess before the run: with `lambda_mult=1` the most similar texts are returned and with 0 the most different ones, and
# a search with a filter returns texts that pass it.
# Seen: langchain-community 0.4.2. `max_marginal_relevance_search` hands `lambda_mul=...` on, which goes into options
# that are not read: with 0, .5 and 1 the texts are those of .5, where the same search by a vector, and
# InMemoryVectorStore, return others. A `filter` goes the same way: all results of a search for a year are of another
# one. Relevance scores are 1 / e to the distance: an opposite text has .14, an unrelated one .37.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    langchain-community==0.4.2 langchain-core==1.8.3 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import numpy as np

warnings.simplefilter("ignore")
from langchain_community.vectorstores import SKLearnVectorStore
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

degrees = {"query": 0, "a": 1, "b": 2, "c": 3, "d": 60, "e": -80}


class Angles(Embeddings):
    """A text's vector points in its direction."""

    def embed_query(self, text):
        return [float(np.cos(np.radians(degrees[text]))), float(np.sin(np.radians(degrees[text])))]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


texts = list(degrees)[1:]
years = [{"year": 2024 if text in "abc" else 2025} for text in texts]
store = SKLearnVectorStore(Angles(), metric="cosine")
store.add_texts(texts, metadatas=years)
memory = InMemoryVectorStore(Angles())
memory.add_texts(texts, metadatas=years)


def join(documents):
    return "".join(document.page_content for document in documents)


def search(store, by_vector, value):
    method = store.max_marginal_relevance_search_by_vector if by_vector else store.max_marginal_relevance_search
    query = Angles().embed_query("query") if by_vector else "query"
    return join(method(query, k=3, fetch_k=5, lambda_mult=value))


values = (0, 0.5, 1)
lists = [[search(*which, value) for value in values] for which in ((store, False), (store, True), (memory, False))]
found = store.similarity_search("query", k=2, filter={"year": 2025})
print(
    f"langchain-community {importlib.metadata.version('langchain-community')}, lambda_mult 0, 0.5, 1: {lists[0]},",
    f"by vector {lists[1]}, in memory {lists[2]}; years of a search for 2025:",
    [document.metadata["year"] for document in found],
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "langchain-community 0.4.2, lambda_mult 0, 0.5, 1: ['aeb', 'aeb', 'aeb'], by vector ['aed', 'aeb', 'abc\
'], in memory ['aed', 'aeb', 'abc']; years of a search for 2025: [2024, 2024]"
