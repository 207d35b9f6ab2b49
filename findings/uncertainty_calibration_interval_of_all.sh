#!/usr/bin/env bash
# The 90 % interval of a calibration error in uncertainty-calibration is one of 99.9 %: alpha=0.1 is read as per cent.
#
# Guess before the run: get_calibration_error_uncertainties(alpha=0.1), "1-alpha confidence intervals", has the ends of
# the 5th and the 95th percentile of its bootstrap.
# Seen: uncertainty-calibration 0.1.4. The bootstrap reads alpha in per cent: its ends are percentiles .05 and 99.95,
# of 100 samples about the least and the greatest; alpha=10 is the interval of 90 %. The default is .096 wide where
# .060 is right, and the intervals of two models that differ by .09 are apart in 22 of 40 trials, not in 32.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    uncertainty-calibration==0.1.4 scikit-learn==1.9.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import calibration
import numpy as np

np.random.seed(0)


def interval(shift, alpha):
    """Of the top label's error of 500 texts, whose probabilities are too high by `shift`."""
    sure = np.random.choice([0.6, 0.7, 0.8, 0.9], 500)
    right = np.random.random(500) < sure - shift
    probabilities = np.stack([sure, 1 - sure], axis=1)
    labels = np.where(right, 0, 1)
    low, _, high = calibration.get_top_calibration_error_uncertainties(probabilities, labels, p=1, alpha=alpha)
    return low, high


parts = []
for alpha in (0.1, 10):
    pairs = [(interval(0.05, alpha), interval(0.14, alpha)) for _ in range(40)]
    width = np.mean([high - low for pair in pairs for low, high in pair])
    apart = sum(first[1] < second[0] for first, second in pairs)
    parts.append(f"alpha {alpha} width {width:.3f}, apart {apart} of 40")
print(f"uncertainty-calibration {importlib.metadata.version('uncertainty-calibration')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "uncertainty-calibration 0.1.4: alpha 0.1 width 0.096, apart 22 of 40; alpha 10 width 0.060, apart 32\
 of 40"
