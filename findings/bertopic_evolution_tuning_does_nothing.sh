#!/usr/bin/env bash
# `evolution_tuning` of BERTopic's topics over time does nothing: it is written into a copy that is thrown away.
#
# Guess before the run: with evolution_tuning=True, the default, a topic's words at a time are those of the mean of its
# weights at this time and at the time before, so that its description changes slowly.
# Seen: BERTopic 0.17.4. A topic of which other words are frequent at each of three times is described by the same words
# with and without evolution tuning, with and without global tuning. By hand the mean of two times has both frequent
# words of the first time among the four words of the second, BERTopic has none of them. The mean is assigned to rows of
# `c_tf_idf.tolil()`, which is a new matrix. Topics seem to change faster than the page of BERTopic says.
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


texts, labels, times = [], [], []
for index, theme in enumerate(THEMES.values()):
    for time in range(3):
        # At each time two words are frequent, and the others are not.
        order = theme[2 * time :] + theme[: 2 * time]
        for word, count in zip(order, (30, 20, 7, 6, 5, 4)):
            texts += [word] * count
            labels += [index] * count
            times += [time] * count
topics = model(labels)
topics.fit(texts)


def words_of(evolution, everywhere):
    table = topics.topics_over_time(texts, times, evolution_tuning=evolution, global_tuning=everywhere)
    return table.Words.tolist()


alike = [words_of(True, everywhere) == words_of(False, everywhere) for everywhere in (True, False)]

# By hand: the mean of the weights of two times, for the first theme.
weights = []
for time in (0, 1):
    joined = [" ".join(text for text, label, t in zip(texts, labels, times) if label == 0 and t == time)]
    row = topics.ctfidf_model.transform(topics.vectorizer_model.transform(joined)).toarray()[0]
    weights.append(row / row.sum())
words = topics.vectorizer_model.get_feature_names_out()
hand = words[np.argsort(-(weights[0] + weights[1]))][:4]
topic = topics.topics_[0]
table = topics.topics_over_time(texts, times, global_tuning=False).query("Topic == @topic")
seen = [line.split(", ")[:4] for line in table.sort_values("Timestamp").Words]
print(
    f"bertopic {bertopic.__version__}: words with and without it are alike, global tuning on {alike[0]},",
    f"off {alike[1]}; first time: {' '.join(seen[0])}; second: {' '.join(seen[1])}; by hand: {' '.join(hand)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bertopic 0.17.4: words with and without it are alike, global tuning on True, off True; first time:\
 ball team goal match; second: goal match league coach; by hand: goal ball match team"
