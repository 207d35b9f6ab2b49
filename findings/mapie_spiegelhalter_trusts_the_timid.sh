#!/usr/bin/env bash
# A classifier that is far too timid has a p of 1.000 in MAPIE's Spiegelhalter test: it looks for too sure ones alone.
#
# Guess before the run: `spiegelhalter_p_value` is small for probabilities that are not calibrated, whichever way, as
# Spiegelhalter's test is, which has two sides, and as those of Kolmogorov and Kuiper beside it are.
# Seen: mapie 1.6.0. Of 1,000 texts with calibrated probabilities z is 1.2; with logits twice as large, too sure, it is
# 13.5 and p is 0; with logits half as large it is -5.5, and p is 1.000, where both sides have .000 and the test of
# Kolmogorov and Smirnov .040. A BERT after too much label smoothing or too high a temperature passes best of all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mapie==1.6.0 scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from mapie.metrics.calibration import kolmogorov_smirnov_p_value, spiegelhalter_p_value, spiegelhalter_statistic
from scipy import stats

rng = np.random.default_rng(0)
probabilities = rng.beta(2, 2, size=1000)
labels = (rng.random(1000) < probabilities).astype(int)
logits = np.log(probabilities / (1 - probabilities))
parts = []
for name, factor in (("calibrated", 1.0), ("too sure", 2.0), ("too timid", 0.5)):
    scores = 1 / (1 + np.exp(-factor * logits))
    variance = np.sum((1 - 2 * scores) ** 2 * scores * (1 - scores))
    by_hand = np.sum((labels - scores) * (1 - 2 * scores)) / np.sqrt(variance)
    assert np.isclose(by_hand, spiegelhalter_statistic(labels, scores))
    parts.append(
        f"{name}: z {by_hand:.1f}, p {spiegelhalter_p_value(labels, scores):.3f},"
        f" two-sided {2 * stats.norm.sf(abs(by_hand)):.3f},"
        f" Kolmogorov-Smirnov {kolmogorov_smirnov_p_value(labels, scores):.3f}"
    )
print(f"mapie {importlib.metadata.version('mapie')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mapie 1.6.0: calibrated: z 1.2, p 0.120, two-sided 0.240, Kolmogorov-Smirnov 0.695; too sure: z 13.5,\
 p 0.000, two-sided 0.000, Kolmogorov-Smirnov 0.000; too timid: z -5.5, p 1.000, two-sided 0.000, Kolmogorov-Smirnov\
 0.040"
