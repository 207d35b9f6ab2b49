#!/usr/bin/env bash
# BM25L of rank_bm25 counts words without end: a page that says a word 100 times has 200 times the score of one time.
#
# Guess before the run: BM25L saturates, as BM25 does: however often a word is in a document, its part is at most k1 +
# 1 times its idf.
# Seen: rank_bm25 0.2.2. The saturated part is multiplied by the count once more, so that the score grows with it. A
# document of 200 words that has a query word 1, 10 and 100 times: 1.2, 21.9 and 246.3 times the idf (by definition
# 1.2, 2.2 and 2.5). BM25Okapi has 1.0, 2.2 and 2.5. So of a query of three words a page that says one of them ten
# times has 68.1, the one that has all three 14.4; BM25Okapi has 6.7 and 11.5.
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

from rank_bm25 import BM25L, BM25Okapi

query = ["cat", "dog", "bird"]


def document(*counts):
    words = [word for word, count in zip(query, counts) for _ in range(count)]
    return words + [f"w{number}" for number in range(200 - len(words))]


corpus = [document(1), document(10), document(100), document(1, 1, 1)] + [document() for _ in range(96)]
words = []
for model in (BM25L, BM25Okapi):
    ranker = model(corpus)
    parts = [score / ranker.idf["cat"] for score in ranker.get_scores(["cat"])[:3]]
    ten, all_three = ranker.get_scores(query)[[1, 3]]
    words.append(
        f"{model.__name__} {' '.join(f'{part:.1f}' for part in parts)}, a query of three words {ten:.1f} for ten times"
        f" one, {all_three:.1f} for each once"
    )
limits = [2.5 * (count + 0.5) / (1.5 + count + 0.5) for count in (1, 10, 100)]
words.append(f"BM25L by definition {' '.join(f'{limit:.1f}' for limit in limits)}")
print(f"rank_bm25 {importlib.metadata.version('rank-bm25')}: idfs for 1, 10 and 100 times: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rank_bm25 0.2.2: idfs for 1, 10 and 100 times: BM25L 1.2 21.9 246.3, a query of three words 68.1 for\
 ten times one, 14.4 for each once; BM25Okapi 1.0 2.2 2.5, a query of three words 6.7 for ten times one, 11.5 for\
 each once; BM25L by definition 1.2 2.2 2.5"
