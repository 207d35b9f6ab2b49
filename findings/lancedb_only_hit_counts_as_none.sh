#!/usr/bin/env bash
# The only text with the word that is asked for has a keyword score of 0 in LanceDB's hybrid search, as the others.
#
# Guess before the run: with nine tenths of the weight on words, the one text that has the rare word comes first.
# Seen: lancedb 0.40.0. Scores are normalized from their least to their greatest before LinearCombinationReranker adds
# them, so the least of the hits has 0, which is also what texts without the word get. A single hit is the least, and
# of two equal ones both are. The text with "quokka" comes last, by its vector alone. Normalized by rank a single hit
# has 0, too, and of two equal ones one has 0 and the other all of the weight. The default, RRFReranker, adds up ranks
# and is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lancedb==0.40.0 pyarrow==26.0.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import tempfile
from importlib.metadata import version

import lancedb
from lancedb.rerankers import LinearCombinationReranker

texts = ["the cat sat on the mat", "the dog ran in the park", "a bird sang in the tree", "a quokka smiled at the sea"]
with tempfile.TemporaryDirectory() as folder:
    rows = [{"vector": [1.0, i], "text": text, "number": i} for i, text in enumerate(texts)]
    table = lancedb.connect(folder).create_table("texts", rows)
    table.create_fts_index("text")
    for words in ("quokka", "quokka bird"):
        hits = table.search(words, query_type="fts").to_list()
        scores = [f"{hit['number']} {hit['_score']:.2f}" for hit in hits]
        print(f"lancedb {version('lancedb')} {words}, by words:", *scores)
        for normalize in ("score", "rank"):
            search = table.search(query_type="hybrid").vector([1.0, 0.0]).text(words)
            found = search.rerank(LinearCombinationReranker(weight=0.1), normalize=normalize).limit(4).to_list()
            print(f"  {normalize}:", *[f"{hit['number']} {hit['_relevance_score']:.2f}" for hit in found])
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "lancedb 0.40.0 quokka, by words: 3 1.20
  score: 0 0.10 1 0.09 2 0.06 3 0.00
  rank: 0 0.10 1 0.07 2 0.03 3 0.00
lancedb 0.40.0 quokka bird, by words: 2 1.20 3 1.20
  score: 0 0.10 1 0.09 2 0.06 3 0.00
  rank: 3 0.90 0 0.10 1 0.07 2 0.03"
