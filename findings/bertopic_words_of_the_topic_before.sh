#!/usr/bin/env bash
# Topics over time of BERTopic have the words of the topic before them, once outliers were given to topics.
#
# Guess before the run: `topics_over_time(texts, times, topics=new)` with the topics that `reduce_outliers` has
# returned describes each topic by its own words.
# Seen: BERTopic 0.17.4. Of five words food has three of its own and two of sport, space has two of its own: the weights
# at each time are averaged with the row of the topic before in the matrix of the whole corpus, whose first row is that
# of the outliers. The new topics have no outliers, and rows are counted from the first of them. Without global tuning,
# or after `update_topics`, all five words are right. The words of two topics side by side seem to be one that changes.
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
texts, labels = [], []
for number in range(150):
    index = 0 if number < 60 else 1 if number < 110 else 2
    texts.append(" ".join(random.choice(list(THEMES.values())[index], 4)))
    labels.append(-1 if number % 10 == 0 else index)
times = [number % 3 for number in range(150)]
topics = model(labels)
topics.fit(texts)
new = topics.reduce_outliers(texts, topics.topics_, strategy="c-tf-idf")


def own(table):
    """How many of five words are of the topic's own theme, for each topic at the first time."""
    table = table.query("Timestamp == 0 and Topic >= 0").sort_values("Topic")
    lists = [line.split(", ") for line in table.Words]
    return " ".join(str(sum(word in theme for word in words)) for words, theme in zip(lists, THEMES.values()))


words = [
    f"with outliers {own(topics.topics_over_time(texts, times))}",
    f"after reduce_outliers {own(topics.topics_over_time(texts, times, topics=new))}",
    f"without global tuning {own(topics.topics_over_time(texts, times, topics=new, global_tuning=False))}",
]
topics.update_topics(texts, topics=new)
words.append(f"after update_topics {own(topics.topics_over_time(texts, times, topics=new))}")
print(f"bertopic {bertopic.__version__}, words of sport, food, space of five: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bertopic 0.17.4, words of sport, food, space of five: with outliers 5 5 5, after reduce_outliers 5 3\
 2, without global tuning 5 5 5, after update_topics 5 5 5"
