#!/usr/bin/env bash
# Of sentences that are all nearest to themselves TensorFlow Recommenders finds four in ten not at the first place.
#
# Guess before the run: the top-1 accuracy of FactorizedTopK is 1 where each query is one of the candidates and equal
# to its answer, with `true_candidate_ids` or, by scores, without.
# Seen: tensorflow-recommenders 0.7.7 with TensorFlow 2.20.0. By scores the product of query and answer is computed by
# itself, as a sum, and compared with those of a matrix product, among which the answer is a second time: where its
# last bit is rounded up there, the answer is beaten by itself. On this processor about .60 of the sentences are found
# at the first place (the number depends on it), by `true_candidate_ids` all of them. In each top-k accuracy a right
# answer at place k counts as missed as often; top-5 is right only as nothing else is near.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-recommenders==0.7.7
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
import tensorflow_recommenders as tfrs

generator = np.random.default_rng(0)


def top_1(size):
    """How often the nearest of 500 sentences is the sentence itself, by scores, and by numbers of sentences."""
    vectors = generator.normal(size=(500, size)).astype("float32")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = []
    for ids in (None, tf.range(500)):
        metric = tfrs.metrics.FactorizedTopK(tfrs.layers.factorized_top_k.BruteForce(k=5).index(vectors), ks=(1, 5))
        metric.update_state(vectors, vectors, true_candidate_ids=ids)
        found += [float(one) for one in metric.result()[:2]]
    return " ".join("all" if one == 1 else "under 90 %" if one < 0.9 else f"{one}" for one in found)


print(
    f"tensorflow-recommenders {importlib.metadata.version('tensorflow-recommenders')}, tensorflow {tf.__version__},",
    f"top-1 and top-5 by scores, by numbers: {', '.join(f'{size} dimensions {top_1(size)}' for size in (64, 768))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-recommenders 0.7.7, tensorflow 2.20.0, top-1 and top-5 by scores, by numbers: 64 dimensions\
 under 90 % all all all, 768 dimensions under 90 % all all all"
