#!/usr/bin/env bash
# BM25+ of rank-bm25 and bm25s ranks as without its delta: documents that don't have the word get the bonus, too.
#
# Guess before the run: BM25+ and BM25L (Lv and Zhai 2011), the first stage before a BERT that re-ranks, add delta to
# the frequency of a word that a document has, so that long documents which have it stay apart from those which don't.
# Seen: rank-bm25 0.2.2, bm25s 0.3.16. Their BM25+ adds delta for every document, and BM25L of bm25s has a score for
# words that are not there. So delta changes none of the first ten documents of BM25+, where it changes 3.2 by the
# paper; 6.8 and 6.7 of ten are the paper's. BM25L of rank-bm25 multiplies by the frequency once more: 10 times a word
# scores 42.1, once 2.4, which are 4.2 and 2.4 in the paper; 3.3 of its ten are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    rank-bm25==0.2.2 bm25s==0.3.16 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import math
from collections import Counter

import bm25s
import numpy as np
import rank_bm25

random = np.random.default_rng(0)
chances = 1 / np.arange(1, 301)
corpus = [
    list(random.choice(300, size, p=chances / chances.sum()).astype(str)) for size in random.geometric(0.005, 500)
]
queries = [list(random.choice(range(20, 300), 3, replace=False).astype(str)) for _ in range(20)]
counts = [Counter(text) for text in corpus]
mean = sum(map(len, corpus)) / len(corpus)


def paper(query, kind, delta):
    """Scores by Lv and Zhai (2011), k1 = 1.5, b = 0.75: a sum over the words that a document has."""
    scores = np.zeros(len(corpus))
    for word in query:
        found = sum(word in count for count in counts)
        for number, count in enumerate(counts):
            length = 0.25 + 0.75 * len(corpus[number]) / mean
            if word in count and kind == "BM25+":
                value = 2.5 * count[word] / (1.5 * length + count[word]) + delta
                scores[number] += math.log((len(corpus) + 1) / found) * value
            elif word in count:
                often = count[word] / length + delta
                scores[number] += math.log((len(corpus) + 1) / (found + 0.5)) * 2.5 * often / (1.5 + often)
    return scores


def by_rank_bm25(query, kind, delta):
    return getattr(rank_bm25, kind.replace("+", "Plus"))(corpus, k1=1.5, b=0.75, delta=delta).get_scores(query)


def by_bm25s(query, kind, delta):
    index = bm25s.BM25(method=kind.lower(), k1=1.5, b=0.75, delta=delta)
    index.index(corpus, show_progress=False)
    return index.get_scores(query)


def first(scorer, kind, delta):
    return [set(np.argsort(-scorer(query, kind, delta).round(4), kind="stable")[:10]) for query in queries]


def shared(one, other):
    return np.mean([len(some & more) for some, more in zip(one, other)])


parts = []
for kind, delta in (("BM25+", 1), ("BM25L", 0.5)):
    best = first(paper, kind, delta)
    for scorer in (paper, by_rank_bm25, by_bm25s):
        found = first(scorer, kind, delta)
        same = shared(found, first(scorer, kind, 0))
        parts.append(f"{kind} {scorer.__name__} {10 - same:.1f} {shared(found, best):.1f}")
texts = [["a"] * times + ["x"] * (10 - times) for times in (1, 5, 10)] + [["y"] * 10] * 20
often = ", ".join(f"{score:.1f}" for score in rank_bm25.BM25L(texts).get_scores(["a"])[:3])
versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("rank-bm25", "bm25s"))
print(
    f"{versions}, of ten documents changed by delta, and as in the paper: {'; '.join(parts)};",
    f"BM25L of 1, 5 and 10 times a word: {often}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rank-bm25 0.2.2, bm25s 0.3.16, of ten documents changed by delta, and as in the paper: BM25+ paper 3.2\
 10.0; BM25+ by_rank_bm25 0.0 6.8; BM25+ by_bm25s 0.0 6.8; BM25L paper 2.8 10.0; BM25L by_rank_bm25 1.8\
 3.3; BM25L by_bm25s 0.7 6.7; BM25L of 1, 5 and 10 times a word: 2.4, 18.9, 42.1"
