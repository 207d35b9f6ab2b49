#!/usr/bin/env bash
# In sumy's TextRank a sentence votes for itself: one that shares no word with any other ranks above half of the text.
#
# Guess before the run: a sentence gets its rank from the other sentences that share words with it; one that shares none
# has the least that there is, (1 - .85) / 5 = .03 of 1 in a text of five.
# Seen: sumy 0.13.0. It has .20, the mean, and is second of the five. The matrix has the similarity of each sentence
# with itself on its diagonal, where the paper has an edge between two sentences; the rows are then divided by their
# sums, so that a sentence without a neighbour gives all of its rank to itself, and the more it shares with others the
# less it keeps. Without the diagonal it has .03 and the last place.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sumy==0.13.0 nltk==3.10.4 lxml==6.1.3 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.summarizers.text_rank import TextRankSummarizer


class Words:
    """Splits at spaces: sumy's tokenizer of English needs files of NLTK."""

    @staticmethod
    def to_words(text):
        return tuple(text.split())


def make_document(sentences):
    return ObjectDocumentModel([Paragraph([Sentence(text, Words) for text in sentences])])


texts = [
    "a bank lends money",
    "the bank took money back",
    "money of a bank",
    "the bank and the money",
    "wombats photograph improbable turquoise lighthouses whenever accordions hibernate",
]
summarizer = TextRankSummarizer()
document = make_document(texts)
ranks = list(summarizer.rate_sentences(document).values())


def rank_by_hand(diagonal):
    words = [text.split() for text in texts]
    weights = np.array([[summarizer._rate_sentences_edge(one, other) for other in words] for one in words])
    if not diagonal:
        np.fill_diagonal(weights, 0)
    weights /= weights.sum(1, keepdims=True) + 1e-7
    ranks = np.full(len(texts), 1 / len(texts))
    for _ in range(200):
        ranks = 0.15 / len(texts) + 0.85 * weights.T @ ranks
    return ranks


def show(ranks):
    return f"{ranks[-1]:.2f}, place {1 + sum(rank > ranks[-1] for rank in ranks)}"


print(
    f"sumy {importlib.metadata.version('sumy')}, sentence that shares no word: {show(ranks)} of {len(ranks)};",
    f"by hand {show(rank_by_hand(True))}, without the diagonal {show(rank_by_hand(False))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sumy 0.13.0, sentence that shares no word: 0.20, place 2 of 5; by hand 0.20, place 2, without the diag\
onal 0.03, place 5"
