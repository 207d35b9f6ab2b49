#!/usr/bin/env bash
# One text in a thousand makes a "drift" of a classifier's scores in frouros: its PSI is over .25 where nothing changed.
#
# Guess before the run: the population stability index of two samples from the same distribution, of 1,000 scores each,
# is near 9 bins x 2 / 1,000 = .02, and over .25, "significant", never.
# Seen: frouros 0.9.0. An empty bin counts as 2e-308, the smallest float, whose logarithm is -708: a single text there
# adds .7. Of 200 pairs of samples of confidences 30 % are over .25, and none if an empty bin counts as 1e-4, as is
# usual; of samples of 100 texts 76 %, at a median of 14, where the other has 42 % and .23.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    frouros==0.9.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from frouros.detectors.data_drift import PSI

random = np.random.default_rng(0)


def index(first, second):
    edges = np.histogram_bin_edges(np.concatenate([first, second]), 10)
    shares = [np.maximum(np.histogram(some, edges)[0] / len(some), 1e-4) for some in (first, second)]
    return np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0]))


parts = []
for size in (100, 1000):
    values = []
    for _ in range(200):
        first, second = random.beta(8, 2, (2, size))
        detector = PSI()
        detector.fit(X=first)
        values.append((detector.compare(X=second)[0].distance, index(first, second)))
    values = np.array(values)
    parts.append(
        "{} texts: median {:.2f} ({:.2f}), over .25 {:.0f} % ({:.0f} %)".format(
            size, *np.median(values, axis=0), *100 * np.mean(values > 0.25, axis=0)
        )
    )
print(f"frouros {importlib.metadata.version('frouros')}, in brackets with 1e-4: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "frouros 0.9.0, in brackets with 1e-4: 100 texts: median 14.14 (0.23), over .25 76 % (42 %); 1000\
 texts: median 0.02 (0.02), over .25 30 % (0 %)"
