#!/usr/bin/env bash
# For 30 new texts `transform` of a turftopic clustering may return the topics of the training texts.
#
# Guess before the run: `ClusteringTopicModel.transform(new_texts)` gives one row for each new text, whichever way the
# words of the topics are chosen, and texts about space are in the topic of space.
# Seen: turftopic 0.28.0. With `feature_importance` "c-tf-idf", "soft-c-tf-idf" and "centroid" it is so. With "npmi",
# "fighting-words" and "linear" there are 150 rows, and they are the topics that the training texts had, whatever the
# new texts are. Where there are as many new texts as there were old ones, or the first rows are taken, nothing shows
# it: of 150 texts about space 40 are in the topic of space.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1 joblib==1.6.0 rich==13.9.4 pillow==13.0.0 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    turftopic==0.28.0 sentence-transformers==6.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import types

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer


class Unused(types.ModuleType):
    """A package that is not needed here: its names are there and do nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return sys.modules.get(f"{self.__name__}.{name}") or type(name, (), {})


for name in "sentence_transformers torch torch.nn torch.nn.functional huggingface_hub igraph transformers".split():
    sys.modules[name] = Unused(name)
from turftopic import ClusteringTopicModel

random = np.random.default_rng(0)
themes = {
    "sport": "ball team goal match league coach".split(),
    "food": "bread soup cheese salt oven recipe".split(),
    "space": "moon rocket star orbit planet comet".split(),
}


def texts(name, count):
    return [" ".join(random.choice(themes[name], 5)) for _ in range(count)]


class Encoder:
    """How many words of each theme a text has, and some noise."""

    def encode(self, documents, **options):
        counts = [[sum(word in theme for word in text.split()) for theme in themes.values()] for text in documents]
        return np.array(counts) + random.normal(scale=0.05, size=(len(documents), 3))


old = texts("sport", 60) + texts("food", 50) + texts("space", 40)
words = []
for importance in ("c-tf-idf", "soft-c-tf-idf", "centroid", "npmi", "fighting-words", "linear"):
    model = ClusteringTopicModel(
        encoder=Encoder(),
        dimensionality_reduction=PCA(2),
        clustering=KMeans(3, n_init=3, random_state=0),
        feature_importance=importance,
        vectorizer=CountVectorizer(),
    )
    model.fit(old, embeddings=Encoder().encode(old))
    best = model.components_.argmax(1)
    space = [word in themes["space"] for word in model.get_vocab()[best]].index(True)
    rows = len(model.transform(texts("space", 30)))
    found = (model.transform(texts("space", 150)).argmax(1) == space).sum()
    words.append(f"{importance} {rows} rows, {found}")
version = importlib.metadata.version("turftopic")
print(f"turftopic {version}, rows of 30 new texts, and of 150 about space in its topic: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "turftopic 0.28.0, rows of 30 new texts, and of 150 about space in its topic: c-tf-idf 30 rows, 150;\
 soft-c-tf-idf 30 rows, 150; centroid 30 rows, 150; npmi 150 rows, 40; fighting-words 150 rows, 40; linear 150 rows,\
 40"
