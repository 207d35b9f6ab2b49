#!/usr/bin/env bash
# The sliding passages of PyTerrier leave out the end of nearly every document: of 224 words the last 74 are in none.
#
# Guess before the run: `pt.text.sliding(length=150, stride=75)` makes passages that hold every word of a document, the
# last of them a shorter one, or one that reaches back.
# Seen: pyterrier 1.1.2. A passage that is not full is dropped: of documents of 150 to 224 words the first 150 are read,
# of 310 words the last 10 are missing, and of 149 or fewer, which are one passage, none. With a stride as long as the
# passage 149 words may be lost. A cross-encoder that reads the passages, and takes the best one, can't find an answer
# that stands at the end: the only word that counts is at place 200 of 224, and it is in no passage.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    pyterrier==1.1.2 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import pandas as pd
import pyterrier as pt

words = []
for stride in (75, 150):
    parts = []
    for length in (149, 150, 224, 225, 310, 448):
        text = " ".join(f"w{n}" for n in range(1, length + 1))
        document = pd.DataFrame([("d", text)], columns=["docno", "body"])
        passages = pt.text.sliding(text_attr="body", length=150, stride=stride, prepend_attr=None)(document)
        read = {word for passage in passages.body for word in passage.split()}
        parts.append(f"{len(read)} of {length}")
    words.append(f"stride {stride} {', '.join(parts)}")
text = " ".join("answer" if n == 200 else "other" for n in range(1, 225))
frame = pd.DataFrame([("q", "answer", "d", text, 1.0, 0)], columns=["qid", "query", "docno", "body", "score", "rank"])
scorer = pt.apply.doc_score(lambda row: float(row["body"].split().count("answer")))
sliding = pt.text.sliding(text_attr="body", length=150, stride=75, prepend_attr=None)
pipeline = sliding >> scorer >> pt.text.max_passage()
print(
    f"pyterrier {importlib.metadata.version('pyterrier')}, words read: {'; '.join(words)};",
    f"score of an answer at word 200 of 224: {pipeline(frame).score.item():.0f}, of the whole text"
    f" {scorer(frame).score.item():.0f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "pyterrier 1.1.2, words read: stride 75 149 of 149, 150 of 150, 150 of 224, 225 of 225, 300 of 310, 375\
 of 448; stride 150 149 of 149, 150 of 150, 150 of 224, 150 of 225, 300 of 310, 300 of 448; score of an answer at\
 word 200 of 224: 0, of the whole text 1"
