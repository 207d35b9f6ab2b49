#!/usr/bin/env bash
# The BM25 of txtai counts old versions of documents: after 50 updates the only document with a word is 16th.
#
# Guess before the run: an index of txtai in which a document was written anew 50 times, unchanged, ranks as before:
# `upsert` says "existing data is updated", and `count()` is still 100.
# Seen: txtai 9.14.0. Of 100 documents one has the word "zebra". For "zebra river" it is first, with .73, before and
# after a new index; after 50 upserts of the same document it is at place 16 and others that have "river" are first.
# Each version stays in the number of documents and in the frequency of its words, 51 for "zebra", so that what is
# updated often is taken for a common word. Deleted documents stay likewise: after 50 others with "zebra" are deleted
# it is at place 45. A hybrid index of a BERT's vectors and BM25 adds these scores.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 regex==2026.11.19 msgpack==1.2.4 PyYAML==6.0.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    txtai==9.14.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import random

from txtai import Embeddings

source = random.Random(0)
words = "river stone cloud tiger paper window garden silver winter music".split()
documents = [(str(number), " ".join(source.choices(words, k=12))) for number in range(100)]
documents[0] = ("0", "zebra " + documents[0][1])


def place(index):
    results = index.search("zebra river", 100)
    names = [name for name, _ in results]
    score = dict(results)["0"]
    return f"place {names.index('0') + 1} of {index.count()} with {score:.2f}"


index = Embeddings({"keyword": True})
index.index(documents)
parts = [f"new {place(index)}"]
for _ in range(50):
    index.upsert([documents[0]])
parts.append(f"updated {place(index)}")
index = Embeddings({"keyword": True})
index.index(documents + [(f"old {number}", "zebra") for number in range(50)])
index.delete([f"old {number}" for number in range(50)])
parts.append(f"50 others deleted {place(index)}")
print(f"txtai {importlib.metadata.version('txtai')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "txtai 9.14.0: new place 1 of 100 with 0.73, updated place 16 of 100 with 0.46, 50 others deleted\
 place 45 of 100 with 0.30"
