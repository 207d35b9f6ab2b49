#!/usr/bin/env bash
# The Kuiper test of frouros is Kolmogorov's with a wrong p: of 200 changes of spread it finds 32, and astropy 195.
#
# Guess before the run: KuiperTest adds the greatest distances of the two distributions to both sides, which is what it
# is taken for instead of Kolmogorov and Smirnov's: it sees that scores spread more, and is wrong in 5 % of cases where
# nothing changes.
# Seen: frouros 0.9.0, scipy 1.14.1, astropy 7.1.0. Its statistic is that of ks_2samp in 200 of 200 cases, and is put
# into Kuiper's formula for p, in which a half of the right one is little: nothing is ever found where nothing changes,
# 75 shifts of the mean for 87. And its "Bhattacharyya distance" is one minus the coefficient, not minus its logarithm:
# .66 for 1.08, and at most 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    frouros==0.9.0 numpy==2.1.3 scipy==1.14.1 astropy==7.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from astropy.stats import kuiper_two
from frouros.detectors.data_drift import BhattacharyyaDistance, KuiperTest
from scipy.stats import ks_2samp

random = np.random.default_rng(0)
parts = []
for name, shift, spread in (("nothing", 0, 1), ("the spread", 0, 1.5), ("the mean", 0.3, 1)):
    found, right, same = 0, 0, 0
    for _ in range(200):
        reference, batch = random.normal(size=200), random.normal(shift, spread, 200)
        detector = KuiperTest()
        detector.fit(X=reference)
        result = detector.compare(X=batch)[0]
        found += result.p_value < 0.05
        right += kuiper_two(reference, batch)[1] < 0.05
        same += np.isclose(result.statistic, ks_2samp(reference, batch).statistic)
    parts.append(f"{name} {found} {right}, statistics of Kolmogorov {same}")
reference, batch = random.normal(size=2000), random.normal(3, 1, 2000)
detector = BhattacharyyaDistance(num_bins=20)
detector.fit(X=reference)
edges = np.histogram_bin_edges(np.concatenate([reference, batch]), 20)
shares = [np.histogram(values, edges)[0] / 2000 for values in (reference, batch)]
distance = f"{detector.compare(X=batch)[0].distance:.2f} {-np.log(np.sqrt(shares[0] * shares[1]).sum()):.2f}"
print(
    f"frouros {importlib.metadata.version('frouros')}, drifts of 200 by its Kuiper test and by astropy's, if",
    f"there changes {'; '.join(parts)}; Bhattacharyya distance {distance}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "frouros 0.9.0, drifts of 200 by its Kuiper test and by astropy's, if there changes nothing 0 12,\
 statistics of Kolmogorov 200; the spread 32 195, statistics of Kolmogorov 200; the mean 75 87,\
 statistics of Kolmogorov 200; Bhattacharyya distance 0.66 1.08"
