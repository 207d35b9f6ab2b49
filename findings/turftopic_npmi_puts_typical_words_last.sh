#!/usr/bin/env bash
# turftopic's NPMI describes a small topic by any other words: those that are most typical of it come last.
#
# Guess before the run: `feature_importance="npmi"`, the normalized pointwise mutual information of turftopic between
# clusters of texts and words, is between -1 and 1 and has the words that occur in one cluster only at its top, as
# c-TF-IDF has.
# Seen: turftopic 0.28.0. Of 30 topics with ten words of their own the ten best words by NPMI are 70 % their own, by
# c-TF-IDF and by the definition all. Values go from -108 to 96. NPMI is divided by -log p(word, topic), the sum of
# the logs of p(word | topic) and p(topic); turftopic takes their difference, which is 0 and changes its sign where a
# word is as frequent in a topic as the topic is among texts. The first three of a topic's own words, a fourth of
# its text, are the last of 500. (The function is loaded from its file, without turftopic's encoders.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    turftopic==0.28.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util

import numpy as np
import scipy.sparse

path = importlib.metadata.distribution("turftopic").locate_file("turftopic/feature_importance.py")
spec = importlib.util.spec_from_file_location("feature_importance", path)
importance = importlib.util.module_from_spec(spec)
spec.loader.exec_module(importance)

random = np.random.default_rng(0)
topics, vocabulary, texts = 30, 500, 3000
labels = random.integers(0, topics, texts)
common = 1 / np.arange(1, vocabulary + 1)
own_words = 200 + 10 * np.arange(topics)[:, None] + np.arange(10)
probabilities = np.tile(0.6 * common / common.sum(), (topics, 1))
for topic in range(topics):
    probabilities[topic, own_words[topic]] += [0.12, 0.08, 0.06, 0.04, 0.03, 0.02, 0.02, 0.01, 0.01, 0.01]
probabilities /= probabilities.sum(axis=1, keepdims=True)
counts = scipy.sparse.csr_matrix(np.array([random.multinomial(40, probabilities[label]) for label in labels]))
document_topics = np.eye(topics)[labels]


def definition():
    """log(p(word | topic) / p(word)) / -log(p(word | topic) p(topic)), smoothed by 5 as in turftopic."""
    word = np.ravel(counts.sum(axis=0)) + 5
    inside = np.stack([np.ravel(counts[labels == topic].sum(axis=0)) + 5 for topic in range(topics)])
    inside = inside / inside.sum(axis=1, keepdims=True)
    share = np.bincount(labels, minlength=topics) + 5
    share = (share / share.sum())[:, None]
    return np.log(inside / (word / word.sum())) / -np.log(inside * share)


scores = {
    "NPMI": importance.npmi(document_topics, counts),
    "c-TF-IDF": importance.ctf_idf(document_topics, counts),
    "NPMI by its definition": definition(),
}
parts = []
for name, values in scores.items():
    order = np.argsort(-values, axis=1)
    hits = np.mean([np.isin(order[topic, :10], own_words[topic]).mean() for topic in range(topics)])
    places = " ".join(str(np.flatnonzero(order[0] == word)[0] + 1) for word in own_words[0, :4])
    parts.append(f"{name} {hits:.2f} own words, places {places}, {values.min():.1f} to {values.max():.1f}")
print(f"turftopic {importlib.metadata.version('turftopic')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "turftopic 0.28.0: NPMI 0.70 own words, places 498 499 500 1, -108.0 to 96.2; c-TF-IDF 1.00 own words,\
 places 1 2 3 4, 0.0 to 1212.7; NPMI by its definition 1.00 own words, places 1 2 3 4, -0.2 to 0.5"
