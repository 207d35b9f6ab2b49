#!/usr/bin/env bash
# Scores that differ by less than .0000001 are equal in rankerEval: small probabilities are ranked by their place.
#
# Guess before the run: `Rankings.from_scores` orders documents by their scores, as far as float32 can tell them apart.
# Seen: rankerEval 0.2.0. It adds 1 to the scores before it sorts them, and what is smaller than the rounding of 1 is
# lost. 1,000 passages with float32 probabilities of about .00000001, as after a softmax over a large collection: the
# reciprocal rank of the best one is .001 at the last place of the file and 1.0 at the first. With the logarithms of
# the same probabilities, or multiplied by a million, it is 1.0 at both.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==1.26.4 scipy==1.15.3 numba==0.68.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    rankereval==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from rankereval import BinaryLabels, Rankings, ReciprocalRank

probabilities = np.geomspace(1e-8, 2e-8, 1000).astype(np.float32)
words = []
for name, scores in (
    ("probabilities", probabilities),
    ("a million times", probabilities * 1e6),
    ("logarithms", np.log(probabilities)),
):
    values = []
    for order in (scores, scores[::-1]):
        labels = BinaryLabels.from_positive_indices([[int(order.argmax())]])
        values.append(ReciprocalRank(1000).score(labels, Rankings.from_scores(order[None].copy())).item())
    words.append(f"{name} {values[0]:.3f} and {values[1]:.3f}")
print(
    f"rankerEval {importlib.metadata.version('rankereval')}: reciprocal rank of the best passage, last and first",
    f"in the file: {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "rankerEval 0.2.0: reciprocal rank of the best passage, last and first in the file: probabilities\
 0.001 and 1.000, a million times 1.000 and 1.000, logarithms 1.000 and 1.000"
