#!/usr/bin/env bash
# The summary of a single text by the package lexrank is its last sentences: no word has a weight, all are equal.
#
# Guess before the run: LexRank works on one text, whose sentences vote for each other: the one that shares most words
# with others is first; the two last sentences, which share none, are last.
# Seen: lexrank 0.1.0. With the text as the only document every score is 1 and the summary of two sentences is the two
# last ones, from the end: a word's weight is the logarithm of the number of documents over those that have it, log(1 /
# 1) = 0 for every word, and no two sentences are alike. Of equal scores the order is that of the sort turned round.
# With the sentences as documents, as the paper on one text has it, "The bank took money back." is first and one of the
# odd ones second, which shares nothing with any sentence: it is a group of its own, and each group's scores have the
# mean 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    lexrank==0.1.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

from lexrank import LexRank

text = [
    "A bank lends money.",
    "The bank took money back.",
    "Money of a bank is lent.",
    "Wombats sleep in burrows.",
    "Rain fell on the hills.",
]
parts = []
for documents in ([text], [[sentence] for sentence in text]):
    ranker = LexRank(documents)
    scores = " ".join(f"{score:.2f}" for score in ranker.rank_sentences(text))
    parts.append(f"{scores} '{' '.join(ranker.get_summary(text, 2))}'")
version = importlib.metadata.version("lexrank")
print(f"lexrank {version}, scores and summary of two: one document {parts[0]}; sentences as documents {parts[1]}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "lexrank 0.1.0, scores and summary of two: one document 1.00 1.00 1.00 1.00 1.00 'Rain fell on the hill\
s. Wombats sleep in burrows.'; sentences as documents 1.00 1.33 1.00 1.00 0.67 'The bank took money back. Wombats slee\
p in burrows.'"
