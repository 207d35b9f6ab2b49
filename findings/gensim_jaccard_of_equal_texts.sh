#!/usr/bin/env bash
# The Jaccard distance of a text and itself is .5 in gensim, if words are counted: the union counts shared ones twice.
#
# Guess before the run: 0 for equal texts, and for texts whose words occur once the same value for bags of words as for
# sets.
# Seen: gensim 4.4.0. By sets the distances from a text to itself, to one that shares two of three words and to one
# that shares none are 0, .5 and 1. By bags of words they are .50, .67 and 1: the weights of both texts are added up as
# the union, the shared ones twice. Nothing is below .5, so a threshold for near duplicates, such as .2, finds none.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gensim==4.4.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import gensim
from gensim.corpora import Dictionary
from gensim.matutils import jaccard

texts = [["the", "cat", "sat"], ["the", "cat", "ran"], ["a", "bird"]]
dictionary = Dictionary(texts)
bags = [dictionary.doc2bow(text) for text in texts]
for kind, items in {"bags": bags, "sets": [set(text) for text in texts]}.items():
    distances = [jaccard(items[0], item) for item in items]
    print(f"gensim {gensim.__version__} {kind}: {' '.join(f'{distance:.2f}' for distance in distances)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "gensim 4.4.0 bags: 0.50 0.67 1.00
gensim 4.4.0 sets: 0.00 0.50 1.00"
