#!/usr/bin/env bash
# Candidates of two words, or with a capital, are never keywords in KeyBERT: it returns others, or nothing, and no word.
#
# Guess before the run: `extract_keywords(doc, candidates=...)` scores the candidates that occur in the text, as they
# are written: "neural network" and "BERT" of a text about them.
# Seen: keybert 0.9.0. Of four candidates that all stand in the text one is returned, "vocabulary", and of the other
# three none: the text is put in lower case and cut into single words, and what a candidate has else is not found in it.
# In lower case, and with `keyphrase_ngram_range=(1, 2)`, which reads as an option for candidates that are not given,
# all four are found. Candidates of another extractor, or names from a list, have both capitals and several words.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1 packaging==26.4 rich==13.9.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keybert==0.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from keybert import KeyBERT
from keybert.backend import BaseEmbedder


class Letters(BaseEmbedder):
    """Vectors of the counts of letters."""

    def embed(self, documents, verbose=False):
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[text.lower().count(letter) for letter in letters] for text in documents]) + 0.01


document = "A neural network reads words. BERT is a neural network with a vocabulary of word pieces."
model = KeyBERT(model=Letters())


def keywords(candidates, **options):
    found = model.extract_keywords(document, candidates=candidates, **options)
    return " ".join(word.replace(" ", "_") for word, _ in sorted(found)) or "nothing"


phrases = ["neural network", "BERT", "word pieces", "vocabulary"]
print(
    f"keybert {importlib.metadata.version('keybert')}: of neural_network, BERT, word_pieces, vocabulary",
    f"{keywords(phrases)}; without the last {keywords(phrases[:3])};",
    f"in lower case {keywords([phrase.lower() for phrase in phrases])};",
    "lower case and keyphrase_ngram_range=(1, 2)",
    f"{keywords([phrase.lower() for phrase in phrases], keyphrase_ngram_range=(1, 2))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keybert 0.9.0: of neural_network, BERT, word_pieces, vocabulary vocabulary; without the last nothing;\
 in lower case bert vocabulary; lower case and keyphrase_ngram_range=(1, 2) bert neural_network vocabulary word_pieces"
