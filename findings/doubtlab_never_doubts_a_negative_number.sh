#!/usr/bin/env bash
# RelativeDifferenceReason of doubtlab never doubts a negative label: a sentiment of -.8 that is taken for .9 is fine.
#
# Guess before the run: labels from -1 to 1 whose prediction is off by more than half of their size are doubted, on both
# sides of 0 alike.
# Seen: doubtlab 0.2.4. The difference is divided by the label with its sign, so that it is negative where the label is,
# and below every threshold. Of 500 negative labels with a wrong sign in the prediction none is doubted, of 500 positive
# ones all are. `AbsoluteDifferenceReason` doubts both. In `CleanlabReason` of the same package `min_doubt` changes
# nothing: all that is doubted is doubted by 1, with .1 as with .9.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    doubtlab==0.2.4 cleanlab==2.9.0 scikit-learn==1.9.1 pandas==3.0.6 numpy==1.26.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from doubtlab.reason import AbsoluteDifferenceReason, CleanlabReason, RelativeDifferenceReason

random = np.random.default_rng(0)
labels = random.uniform(0.2, 1, 1000) * np.repeat([1, -1], 500)
predictions = -labels
words = []
for reason, threshold in ((RelativeDifferenceReason, 0.5), (AbsoluteDifferenceReason, 0.3)):
    doubts = reason.from_predict(predictions, labels, threshold).astype(int)
    words.append(f"{reason.__name__} {doubts[:500].sum()} of 500 positive and {doubts[500:].sum()} of 500 negative")
probabilities = random.dirichlet([1, 1, 1], 300)
classes = random.integers(0, 3, 300)
doubts = [CleanlabReason.from_proba(probabilities, classes, min_doubt=value) for value in (0.1, 0.9)]
values = " ".join(f"{value:g}" for value in np.unique(doubts[0]))
words.append(f"CleanlabReason with .1 and .9: equal {np.array_equal(*doubts)}, doubts {values}")
print(f"doubtlab {importlib.metadata.version('doubtlab')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "doubtlab 0.2.4: RelativeDifferenceReason 500 of 500 positive and 0 of 500 negative;\
 AbsoluteDifferenceReason 500 of 500 positive and 500 of 500 negative; CleanlabReason with .1 and .9: equal True,\
 doubts 0 1"
