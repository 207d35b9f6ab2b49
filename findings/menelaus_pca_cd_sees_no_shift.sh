#!/usr/bin/env bash
# PCA-CD of menelaus sees no drift at all: its score is .25 if all vectors move by ten deviations, and .24 if none does.
#
# Guess before the run: PCACD with "kl", the default, "Jensen-Shannon distance", is near 0 for a stream of vectors that
# stays as it is, and near .83, the greatest, when all of them move by ten standard deviations.
# Seen: menelaus 0.2.0. The density of the reference at its own vectors is compared with that of the new window at its
# own, one by one in order of arrival: neither where they are nor how wide they spread is in it. Without a change .24,
# with a mean moved by ten .25, with a spread of five .24. "intersection", for use "when efficiency is of concern", has
# the change, though it takes the bins of the last component for all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 scikit-learn==1.9.1 joblib==1.6.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    menelaus==0.2.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import pandas as pd
from menelaus.data_drift import PCACD
from scipy.spatial.distance import jensenshannon

random = np.random.default_rng(0)


def last_score(rows, metric):
    """The mean of the last three change scores; a large delta keeps the detector from starting again."""
    detector = PCACD(window_size=100, divergence_metric=metric, delta=1000)
    for row in rows:
        detector.update(pd.DataFrame(row[None]))
    return np.mean(detector._change_score[-3:])


parts = []
for name, shift, scale in (("nothing", 0, 1), ("the mean by 10", 10, 1), ("the spread by 5", 0, 5)):
    rows = random.normal(size=(500, 5))
    rows[300:] = rows[300:] * scale + shift
    ends = [np.histogram(rows[part, 0], bins=10, range=(-20, 20))[0] for part in (slice(100), slice(400, 500))]
    words = f"kl {last_score(rows, 'kl'):.2f}, intersection {last_score(rows, 'intersection'):.2f}"
    parts.append(f"{name} {words}, of histograms {jensenshannon(*ends):.2f}")
print(f"menelaus {importlib.metadata.version('menelaus')}, scores if there changes {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "menelaus 0.2.0, scores if there changes nothing kl 0.24, intersection 0.35, of histograms 0.03; the\
 mean by 10 kl 0.25, intersection 1.00, of histograms 0.83; the spread by 5 kl 0.24, intersection 0.74,\
 of histograms 0.45"
