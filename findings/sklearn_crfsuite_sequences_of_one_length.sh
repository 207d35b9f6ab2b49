#!/usr/bin/env bash
# The share of sentences that sklearn-crfsuite finds all right is 10.00 if all sentences have ten words, and .50 if not.
#
# Guess before the run: `sequence_accuracy_score` of sklearn-crfsuite is the share of sentences all of whose tags are
# right, a number up to 1, as its page says of BIO tags.
# Seen: sklearn-crfsuite 0.5.0. Of 100 sentences half are all right and half have one wrong tag. With lengths of 8 to
# 12 it is .50. If all have ten words, as padded ones or windows of a BERT have, it is 9.50, and 10.00 if all are
# right: lists of one length become a table, the tags that are equal are counted, and divided by the number of
# sentences. A single sentence is a table, too: of a file that is scored sentence by sentence each has its number of
# right tags. No warning is given.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    sklearn-crfsuite==0.5.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

from sklearn_crfsuite.metrics import sequence_accuracy_score

source = random.Random(0)


def score(lengths, wrong):
    """The score of sentences with these lengths; the first `wrong` of them have a wrong tag."""
    right = [[source.choice(["O", "B-PER", "B-LOC"]) for _ in range(length)] for length in lengths]
    predicted = [["I-ORG", *tags[1:]] if place < wrong else list(tags) for place, tags in enumerate(right)]
    return sequence_accuracy_score(right, predicted)


lengths = [8 + place % 5 for place in range(100)]
cases = {
    "8 to 12 words, half right": (lengths, 50),
    "10 words, half right": ([10] * 100, 50),
    "10 words, all right": ([10] * 100, 0),
    "one sentence, wrong": ([10], 1),
}
words = [f"{name} {score(*case):.2f}" for name, case in cases.items()]
print(f"sklearn-crfsuite {importlib.metadata.version('sklearn-crfsuite')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "sklearn-crfsuite 0.5.0: 8 to 12 words, half right 0.50, 10 words, half right 9.50, 10 words, all\
 right 10.00, one sentence, wrong 9.00"
