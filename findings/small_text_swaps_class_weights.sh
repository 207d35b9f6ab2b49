#!/usr/bin/env bash
# While only some classes have labels, small-text's balanced weights may be those of other classes: 50 texts for 30.
#
# Guess before the run: of 50 texts of class 1, 30 of class 8 and 20 of class 10 the balanced weights of a BERT's loss
# grow as a class gets rarer; classes without a text count as nothing. So begins every active learning.
# Seen: small-text 1.4.1. The classes that occur go through a Python `set` before they are paired with their counts,
# and a set of numbers is ordered by their place in a table of 8: 8, 1, 10. Class 8 is given the count of class 1,
# and class 1 that of class 8, so that the most frequent one has the larger weight. Of all triples of 20 classes
# seven in ten are mixed up. Classes that all occur, from 0 on, are counted well.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    small-text==1.4.1 torch==2.13.0 numpy==2.4.6 scikit-learn==1.9.1 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import itertools

import numpy as np
from small_text.integrations.pytorch.utils.data import get_class_weights


def weights(classes, count):
    found = get_class_weights(np.repeat(classes, [50, 30, 20]), count)
    return [round(float(found[one]), 2) for one in classes]


right = weights([0, 1, 2], 3)
triples = list(itertools.combinations(range(20), 3))
mixed = sum(sorted(found := weights(list(one), 20)) != found for one in triples)
print(
    f"small-text {importlib.metadata.version('small-text')}, weights of 50, 30 and 20 texts:",
    f"of the classes 0, 1, 2 {right}, of 1, 8, 10 {weights([1, 8, 10], 11)};",
    f"in disorder for {mixed} of {len(triples)} triples of 20 classes",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "small-text 1.4.1, weights of 50, 30 and 20 texts: of the classes 0, 1, 2 [1.0, 2.33, 4.0],\
 of 1, 8, 10 [2.33, 1.0, 4.0]; in disorder for 820 of 1140 triples of 20 classes"
