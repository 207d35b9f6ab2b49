#!/usr/bin/env bash
# Of OCTIS's coherences by word embeddings one is a distance, higher for unrelated words, and both turn vectors round.
#
# Guess before the run: topics whose ten words mean the same have a coherence that is their mean cosine, pairwise .80
# and with their centroid .91; topics of ten unrelated words about 0 and .31.
# Seen: octis 1.14.0 with gensim 4.4.0, vectors of 300 numbers as a BERT's or word2vec's. Each vector is divided by the
# sum of its numbers, which is negative for half of the words, and turns them round: .52 for the topics of one meaning,
# where signs of sums happen to agree. The centroid's coherence adds distances, one minus the cosine: .31 for one
# meaning and .83 for unrelated words, so that a search for the best topics finds the worst.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    gensim==4.4.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6 requests==2.34.2
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    octis==1.14.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import numpy as np
from gensim.models import KeyedVectors
from octis.evaluation_metrics.coherence_metrics import WECoherenceCentroid, WECoherencePairwise

random = np.random.default_rng(0)
meanings = random.normal(size=(10, 300))
near = [f"near{topic}x{word}" for topic in range(10) for word in range(10)]
vectors = KeyedVectors(300)
vectors.add_vectors(near, np.repeat(meanings, 10, axis=0) + 0.5 * random.normal(size=(100, 300)))
path = f"{sys.argv[1]}/vectors.txt"
vectors.save_word2vec_format(path)
names = np.array(near).reshape(10, 10)
topics = {"of one meaning": names, "one word of each": names.T}
pairwise, centroid = WECoherencePairwise(path, binary=False), WECoherenceCentroid(word2vec_path=path, binary=False)
parts = []
for name, lists in topics.items():
    output = {"topics": lists.tolist()}
    cosines = [np.corrcoef(vectors[list(topic)])[np.triu_indices(10, 1)].mean() for topic in lists]
    centers = [vectors.cosine_similarities(vectors[topic].mean(axis=0), vectors[topic]).mean() for topic in lists]
    words = f"pairwise {pairwise.score(output):.2f} {np.mean(cosines):.2f}"
    parts.append(f"{name} {words}, centroid {centroid.score(output):.2f} {np.mean(centers):.2f}")
print(f"octis {importlib.metadata.version('octis')} and cosines, topics {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "octis 1.14.0 and cosines, topics of one meaning pairwise 0.52 0.80, centroid 0.31 0.91; one word of\
 each pairwise -0.00 -0.01, centroid 0.83 0.31"
