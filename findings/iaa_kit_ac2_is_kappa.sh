#!/usr/bin/env bash
# Gwet's AC2 of iaa-kit is Cohen's weighted kappa, which it is meant to replace where most labels are the same.
#
# Guess before the run: `ac2` of the package of "Gwet AC1/AC2, missing-data handling", takes its chance agreement from
# Gwet (2014), as `ac1` does, and is near the raw agreement for two annotators who give 17 of 20 texts the label 1;
# and Krippendorff's alpha is that of the package krippendorff, on every scale and with gaps.
# Seen: iaa-kit 0.1.2, krippendorff 0.9.0. AC1 is Gwet's, .83. AC2 with linear weights is .52, to the last digit what
# `weighted_kappa` gives; Gwet's is .91. Alpha of Krippendorff's own example, 12 units with gaps, is .72 where .74 is
# in his text, as pairs are averaged over all units and a unit of four ratings weighs six times one of two; and the
# ordinal scale has the distances of the interval scale, .83 for both, where it is .82 and .85.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    iaa-kit==0.1.2 krippendorff==0.9.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import iaa_kit
import krippendorff
import numpy as np

a = [1] * 8 + [2, 1, 1, 1, 3] + [1] * 7
b = [1] * 9 + [2, 1, 1, 3, 1, 1, 1, 1, 1, 2, 1]


def gwet(weights):
    agreed = np.mean([weights[x - 1, y - 1] for x, y in zip(a, b, strict=True)])
    shares = np.array([(a.count(label) + b.count(label)) / (2 * len(a)) for label in (1, 2, 3)])
    chance = weights.sum() / (3 * 2) * (shares * (1 - shares)).sum()
    return (agreed - chance) / (1 - chance)


labels = np.arange(3)
linear = 1 - abs(labels[:, None] - labels) / 2
ac1 = f"AC1 {iaa_kit.ac1(a, b):.2f} Gwet {gwet(np.eye(3)):.2f}"
ac2 = f"AC2 {iaa_kit.ac2(a, b):.2f} Gwet {gwet(linear):.2f}, weighted kappa {iaa_kit.weighted_kappa(a, b):.2f}"
ratings = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
ratings = [[None if rating == "." else int(rating) for rating in row] for row in ratings]
units = [list(unit) for unit in zip(*ratings, strict=True)]
parts = []
for scale in ("nominal", "ordinal", "interval"):
    right = krippendorff.alpha(reliability_data=np.array(ratings, float), level_of_measurement=scale)
    parts.append(f"{scale} {iaa_kit.alpha_value(units, scale):.2f} {right:.2f}")
print(f"iaa-kit {importlib.metadata.version('iaa-kit')}: {ac1}; {ac2}; alpha {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "iaa-kit 0.1.2: AC1 0.83 Gwet 0.83; AC2 0.52 Gwet 0.91, weighted kappa 0.52; alpha nominal 0.72 0.74,\
 ordinal 0.83 0.82, interval 0.83 0.85"
