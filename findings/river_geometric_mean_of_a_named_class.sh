#!/usr/bin/env bash
# One wrong prediction of a class that has no text makes river's geometric mean 0.000, where it was .85.
#
# Guess before the run: GeometricMean is the root of the product of the recalls of the classes that have texts; a class
# that a model names, but no text has, has no recall, as in BalancedAccuracy of the same package.
# Seen: river 0.26.1. Four classes with recalls of .83 to .88: .854. If one of the wrong predictions names a fifth
# class, which no text has, recalls are what they were, BalancedAccuracy is too, and the geometric mean is 0.000. The
# recall of the fifth class, 0 of 0, is taken for 0. In a stream this is so until each class that was ever named has
# come, so that a BERT with 150 intents has a mean of 0 for a long time.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    river==0.26.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from river import metrics

random = np.random.default_rng(0)
labels = random.integers(0, 4, 1000)
predictions = np.where(random.random(1000) < 0.8, labels, random.integers(0, 4, 1000))
parts = []
for name in ("", "with a fifth class named once"):
    if name:
        predictions = predictions.copy()
        predictions[np.flatnonzero(predictions != labels)[0]] = 4  # another wrong class
    mean, balanced = metrics.GeometricMean(), metrics.BalancedAccuracy()
    for label, prediction in zip(labels.tolist(), predictions.tolist()):
        mean.update(label, prediction)
        balanced.update(label, prediction)
    recalls = [np.mean(predictions[labels == label] == label) for label in range(4)]
    parts.append(
        f"{name or 'four classes'} {mean.get():.3f} (balanced accuracy {balanced.get():.3f}, recalls"
        f" {' '.join(f'{recall:.2f}' for recall in recalls)}, by hand {np.prod(recalls) ** 0.25:.3f})"
    )
print(f"river {importlib.metadata.version('river')}, geometric mean: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "river 0.26.1, geometric mean: four classes 0.854 (balanced accuracy 0.854, recalls 0.87 0.83 0.88\
 0.84, by hand 0.854); with a fifth class named once 0.000 (balanced accuracy 0.854, recalls 0.87 0.83 0.88 0.84, by\
 hand 0.854)"
