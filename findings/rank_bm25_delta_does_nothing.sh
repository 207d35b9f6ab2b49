#!/usr/bin/env bash
# `delta` of BM25Plus in rank_bm25 changes no ranking: its bonus is given to all documents, with and without the word.
#
# Guess before the run: BM25+ gives each document that has a word of the query a bonus, `delta` times the word's idf,
# so that a long document with the word stays above those without it; a greater delta changes rankings.
# Seen: rank_bm25 0.2.2. The bonus is given to documents without the word as well. 200 queries of two words, 100
# documents of 5 to 800 words: the order of all documents is the same with a delta of 0, 1, 5 and 50, where by the
# definition 15 of the first 20 change theirs from 0 to 5. A document without the word has a score of 1.39, not 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rank-bm25==0.2.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from rank_bm25 import BM25Plus

random = np.random.default_rng(0)
corpus = [[f"w{word}" for word in random.geometric(0.02, size=length)] for length in random.integers(5, 800, 100)]
queries = [[f"w{word}" for word in random.integers(20, 150, 2)] for _ in range(200)]


def by_definition(query, delta):
    plus = BM25Plus(corpus, delta=delta)
    scores = np.zeros(len(corpus))
    for word in query:
        has = np.array([word in document for document in corpus])
        scores += np.where(has, plus.get_scores([word]), 0)
    return scores


def order(scores):
    return tuple(np.argsort(-scores.round(9), kind="stable"))


seen = {delta: [order(BM25Plus(corpus, delta=delta).get_scores(query)) for query in queries] for delta in (0, 1, 5, 50)}
changed = [sum(a != b for a, b in zip(seen[0], seen[delta])) for delta in (1, 5, 50)]
defined = sum(order(by_definition(query, 0)) != order(by_definition(query, 5)) for query in queries[:20])
absent = BM25Plus([["cat"], ["dog"], ["bird"]]).get_scores(["cat"])[1]
print(
    f"rank_bm25 {importlib.metadata.version('rank-bm25')}: queries that change their order with a delta of 1, 5, 50:",
    *changed,
    f"of 200 (by definition {defined} of 20 with 5); score of a document without the word {absent:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rank_bm25 0.2.2: queries that change their order with a delta of 1, 5, 50: 0 0 0 of 200 (by\
 definition 15 of 20 with 5); score of a document without the word 1.39"
