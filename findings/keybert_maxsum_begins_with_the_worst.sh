#!/usr/bin/env bash
# KeyBERT's `use_maxsum` returns the worst keyword first, and none for a text with fewer words than `top_n`.
#
# Guess before the run: `extract_keywords(text, use_maxsum=True)` returns keywords in the order of their similarity to
# the text, as it does without it and with `use_mmr=True`, and what there is if a text has fewer candidates than
# `top_n`.
# Seen: keybert 0.9.0. With maxsum the five keywords come from the least similar to the most similar one, so that the
# first one, which others take for the topic of a text, is the worst. A text with four words has four keywords without
# it, four with MMR and an empty list with maxsum, for a `top_n` of five, which is the default, and nothing is said.
# Of a collection the short texts have no keywords.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6 packaging==26.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keybert==0.9.0
cat > "$folder/program.py" <<'PYTHON'
import hashlib
import importlib.metadata

import numpy as np
from keybert import KeyBERT
from keybert.backend import BaseEmbedder


class Vectors(BaseEmbedder):
    """A vector for each word, and for a text the mean of its words' vectors."""

    def embed(self, documents, verbose=False):
        rows = []
        for document in documents:
            words = document.lower().split()
            seeds = [int(hashlib.md5(word.encode()).hexdigest()[:8], 16) for word in words]
            rows.append(np.mean([np.random.default_rng(seed).normal(size=16) for seed in seeds], axis=0))
        return np.array(rows)


model = KeyBERT(Vectors())
long = "river stone cloud tiger paper window garden silver winter music letter bridge"
parts = []
for name, options in (("plain", {}), ("MMR", {"use_mmr": True}), ("maxsum", {"use_maxsum": True, "nr_candidates": 10})):
    keywords = model.extract_keywords(long, stop_words=None, **options)
    scores = [score for _, score in keywords]
    order = "best first" if scores == sorted(scores, reverse=True) else "worst first"
    short = model.extract_keywords("river stone cloud tiger", stop_words=None, **options)
    parts.append(f"{name}: {order} ({scores[0]:.2f} to {scores[-1]:.2f}), {len(short)} of four words")
print(f"keybert {importlib.metadata.version('keybert')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keybert 0.9.0: plain: best first (0.78 to 0.44), 4 of four words; MMR: best first (0.78 to 0.25), 4\
 of four words; maxsum: worst first (0.13 to 0.25), 0 of four words"
