#!/usr/bin/env bash
# BERTopic's KeyBERTInspired describes topics by the vectors of the first texts of the corpus: moon and star are sport.
#
# Guess before the run: KeyBERTInspired gives each topic the words that are nearest to the mean vector of its own most
# typical texts, whatever the order of the texts is.
# Seen: BERTopic 0.17.4. With the texts in the order sport, food, space all three topics are described by the same words
# of sport; in the order space, food, sport by those of space. `fit` gives the vectors of all texts, and the places of
# the typical texts in their own list (0 to 14 here) are taken for places in the corpus: five texts per topic, from its
# beginning. In a shuffled corpus each topic has the words of a random mixture. Given no vectors, as after
# `update_topics`, the words are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 pandas==3.1.1 scikit-learn==1.9.1 scipy==1.17.1 pyyaml==6.0.4 tqdm==4.70.1 packaging==26.4 \
    joblib==1.6.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bertopic==0.17.4
cat > "$folder/program.py" <<'PYTHON'
import bertopic
import numpy as np
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from bertopic.dimensionality import BaseDimensionalityReduction
from bertopic.representation import KeyBERTInspired
THEMES = {
    "sport": "ball team goal match league coach".split(),
    "food": "bread soup cheese salt oven recipe".split(),
    "space": "moon rocket star orbit planet comet".split(),
}


class Counts(BaseEmbedder):
    """Vectors of texts and words: how many words of each theme they have."""

    def embed(self, documents, verbose=False):
        counts = [[sum(word in theme for word in text.split()) for theme in THEMES.values()] for text in documents]
        return np.array(counts) + 0.01


class Given:
    """A clustering that is known."""

    def __init__(self, labels):
        self.labels_ = np.array(labels)

    def fit(self, vectors, y=None):
        return self


def model(labels, **options):
    reduction = BaseDimensionalityReduction()
    return BERTopic(embedding_model=Counts(), umap_model=reduction, hdbscan_model=Given(labels), **options)


random = np.random.default_rng(0)


def words_of(order):
    """How many of a topic's six words are its own, for texts that come theme by theme."""
    every = [word for theme in THEMES.values() for word in theme]
    texts, labels = [], []
    for name in order:
        for _ in range(60 - 10 * list(THEMES).index(name)):
            texts.append(" ".join([*random.choice(THEMES[name], 3, replace=False), *random.choice(every, 2)]))
            labels.append(list(THEMES).index(name))
    topics = model(labels, representation_model=KeyBERTInspired(top_n_words=6))
    topics.fit(texts)
    counts = []
    for fitted in (topics.get_topics(), None):
        if fitted is None:
            topics.update_topics(texts, representation_model=KeyBERTInspired(top_n_words=6))
            fitted = topics.get_topics()
        own = [sum(word in theme for word, _ in fitted[index]) for index, theme in enumerate(THEMES.values())]
        counts.append(" ".join(map(str, own)))
    return f"{counts[0]} (updated {counts[1]})"


print(
    f"bertopic {bertopic.__version__}, of six words of sport, food, space are of the topic itself:",
    f"sport first {words_of(['sport', 'food', 'space'])}, space first {words_of(['space', 'food', 'sport'])}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bertopic 0.17.4, of six words of sport, food, space are of the topic itself: sport first 6 0 0\
 (updated 6 6 6), space first 0 0 6 (updated 6 6 6)"
