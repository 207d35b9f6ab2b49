#!/usr/bin/env bash
# The similarity of centroid-summarizer is a distance: the sentence that shares nothing with the text comes first.
#
# Guess before the run: the summary begins with the sentence that is nearest to the centroid of the text's words: one of
# four about a bank and its money, not the one that has no word of theirs.
# Seen: centroid-summarizer 0.0.5. The odd sentence is first. `similarity` is (2 - cosine) / 2, made for SciPy's
# function `cosine`, which is a distance; the package's own `cosine` has replaced it and is the similarity itself. A
# text has .5 with itself and 1 with one that shares no word. The check for repetitions, a similarity over .95, then
# drops sentences that have nothing in common, and lets copies through: a copy of a sentence stays in the summary.
# (NLTK's tokenizer and stop words, which need files, are replaced by a split at spaces.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 Unidecode==1.4.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    centroid-summarizer==0.0.5
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os
import sys
import types

import numpy as np

# The package's imports want a terminal, and files of NLTK that its tokenizer would load.
os.get_terminal_size = lambda: os.terminal_size((80, 24))
tokenize = types.SimpleNamespace(word_tokenize=str.split, sent_tokenize=str.splitlines)
corpus = types.SimpleNamespace(stopwords=types.SimpleNamespace(words=lambda _: []))
sys.modules |= {"nltk": types.ModuleType("nltk"), "nltk.tokenize": tokenize, "nltk.corpus": corpus}
from centroid_summarizer import CentroidBOWSummarizer, base

texts = ["a bank lends the money", "the bank took money", "money of the bank", "the bank and money", "wombats sleep"]
summarizer = CentroidBOWSummarizer()
first = list(summarizer.summarize(texts, texts))[0]
twice = [texts[0], texts[1], texts[0]]
copies = list(summarizer.summarize(twice, twice)).count(texts[0])
same, apart = base.similarity(np.ones(3), np.ones(3)), base.similarity(np.eye(2)[0], np.eye(2)[1])
version = importlib.metadata.version("centroid-summarizer")
print(
    f"centroid-summarizer {version}: first '{first}'; similarity of a vector with itself {same:.2f}, of two without",
    f"a common word {apart:.2f}; copies of a sentence in a summary: {copies}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "centroid-summarizer 0.0.5: first 'wombats sleep'; similarity of a vector with itself 0.50, of two with\
out a common word 1.00; copies of a sentence in a summary: 2"
