#!/usr/bin/env bash
# `minmax_scaling` of mlxtend to 0 to 100, or to -1 to 1, scales to 0 to 1: either usual limit makes it forget both.
#
# Guess before the run: `minmax_scaling(scores, columns, min_val=0, max_val=100)` makes 0 of the least score and 100 of
# the greatest one, and with -1 and 1 it makes -1 and 1.
# Seen: mlxtend 0.25.0. Both have 0 to 1; with -1 and 2 it is -1 to 2. The limits are used only if the lower one is not
# 0 and the upper one is not 1 either. Ratings of sentiments from -1 to 1, or of similarity from 0 to 5, are targets
# from 0 to 1 without a word: a BERT that learns them can't say that a text is negative.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlxtend==0.25.0 scikit-learn==1.9.1 scipy==1.17.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mlxtend.preprocessing import minmax_scaling
from sklearn.preprocessing import minmax_scale

scores = np.array([[1.0], [2.0], [4.0], [5.0]])
parts = []
for low, high in ((0, 1), (0, 100), (-1, 1), (-1, 2)):
    seen = minmax_scaling(scores, columns=[0], min_val=low, max_val=high).ravel()
    expected = minmax_scale(scores, (low, high)).ravel()
    parts.append(f"{low} to {high}: {seen.min():g} to {seen.max():g} ({expected.min():g} to {expected.max():g})")
print(f"mlxtend {importlib.metadata.version('mlxtend')} (scikit-learn): {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlxtend 0.25.0 (scikit-learn): 0 to 1: 0 to 1 (0 to 1), 0 to 100: 0 to 1 (0 to 100), -1 to 1: 0 to 1\
 (-1 to 1), -1 to 2: -1 to 2 (-1 to 2)"
