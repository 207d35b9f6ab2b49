#!/usr/bin/env bash
# BM25 of gensim ranks texts otherwise if it is made of the corpus than if it is made of its dictionary.
#
# Guess before the run: a corpus and the dictionary of the same corpus have the same number of words per text, so the
# weights of BM25 are equal.
# Seen: gensim 4.4.0. The dictionary counts 8.0 words per text, as there are. From the corpus it is 1.5, the number of
# different words per text, while the length of each text is its number of words: all texts are too long then. A text
# with "cat" twice is before one with it once by the dictionary, and after it by the corpus, in LuceneBM25Model and in
# AtireBM25Model. Candidates for a re-ranker are others. Give the dictionary.
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
from gensim.models import AtireBM25Model, LuceneBM25Model

texts = [text.split() for text in ("cat cat dog dog dog dog", "cat bird", "fish " * 12, "moon " * 12)]
dictionary = Dictionary(texts)
corpus = [dictionary.doc2bow(text) for text in texts]
for kind in (LuceneBM25Model, AtireBM25Model):
    words = []
    for model in (kind(dictionary=dictionary), kind(corpus=corpus)):
        weights = [dict(model[bow]).get(dictionary.token2id["cat"]) for bow in corpus[:2]]
        words.append(f"length {model.avgdl}, cat {weights[0]:.3f} {weights[1]:.3f}")
    print(f"gensim {gensim.__version__} {kind.__name__}: {' | '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "gensim 4.4.0 LuceneBM25Model: length 8.0, cat 0.431 0.419 | length 1.5, cat 0.202 0.241
gensim 4.4.0 AtireBM25Model: length 8.0, cat 1.077 1.046 | length 1.5, cat 0.504 0.603"
