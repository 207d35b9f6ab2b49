#!/usr/bin/env bash
# `delete_topics` of BERTopic deletes the vector of the topic before: "ball" then finds no sport, and "bread" does.
#
# Guess before the run: after `delete_topics([1])` the other topics keep their vectors: a search for their words finds
# them, as before.
# Seen: BERTopic 0.17.4. The first row of the vectors is that of the outliers, which `delete_topics` adds if there are
# none, and row 1 is that of topic 0. It is this row that goes where topic 1 is to go: "ball" finds the outliers or
# another topic, and "bread", whose topic was deleted, finds sport. The words of the topics themselves are right.
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
words = []
for outliers in (False, True):
    texts, labels = [], []
    for number in range(150):
        index = 0 if number < 60 else 1 if number < 110 else 2
        texts.append(" ".join(random.choice(list(THEMES.values())[index], 4)))
        labels.append(-1 if outliers and number % 10 == 0 else index)
    topics = model(labels)
    topics.fit(texts)

    def found():
        """The theme of the first word of the topic that a search for ball, bread and moon finds."""
        names = []
        for word in ("ball", "bread", "moon"):
            (topic,), _ = topics.find_topics(word, top_n=1)
            first = topics.get_topic(topic)[0][0]
            names.append("outliers" if topic == -1 else next((n for n in THEMES if first in THEMES[n]), "none"))
        return " ".join(names)

    before = found()
    topics.delete_topics([1])
    words.append(f"{'with' if outliers else 'without'} outliers {before}, deleted {found()}")
print(f"bertopic {bertopic.__version__}, ball, bread, moon are found as: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bertopic 0.17.4, ball, bread, moon are found as: without outliers sport food space, deleted space\
 sport space; with outliers sport food space, deleted outliers sport space"
