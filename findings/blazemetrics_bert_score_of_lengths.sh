#!/usr/bin/env bash
# The BERTScore of blazemetrics is 2 for unrelated vectors and 20 for long ones: it divides by one of two lengths.
#
# Guess before the run: `bert_score_similarity(candidates, references)` of two texts' vectors is BERTScore's precision,
# recall and F1 of cosines: 1 for equal ones, at most 1, and the same if all vectors are ten times as long.
# Seen: blazemetrics 0.1.6. The product of two vectors is divided by the length of one of them: of random vectors of
# eight units the precision is 2.04 (cosines .63), of the same ones ten times as long 20.38, and of vectors with
# themselves 2.95, their mean length. A text's words that a BERT gives long vectors decide, and scores of two models
# can't be compared.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    blazemetrics==0.1.6 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from blazemetrics import bert_score_similarity

random = np.random.default_rng(0)
candidate, reference = (random.normal(size=(number, 8)).astype("float32") for number in (5, 9))


def cosines(a, b):
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    scores = a @ b.T
    precision, recall = scores.max(1).mean(), scores.max(0).mean()
    return precision, recall, 2 * precision * recall / (precision + recall)


parts = []
for name, a, b in (
    ("random", candidate, reference),
    ("ten times as long", 10 * candidate, 10 * reference),
    ("with itself", reference, reference),
):
    values = [" ".join(f"{value:.2f}" for value in metric(a, b)) for metric in (bert_score_similarity, cosines)]
    parts.append(f"{name} {values[0]} ({values[1]})")
print(f"blazemetrics {importlib.metadata.version('blazemetrics')}, P, R and F1: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "blazemetrics 0.1.6, P, R and F1: random 2.04 1.70 1.86 (0.63 0.57 0.60); ten times as long 20.38 17.04\
 18.56 (0.63 0.57 0.60); with itself 2.95 2.95 2.95 (1.00 1.00 1.00)"
