#!/usr/bin/env bash
# A search that shows different answers has an alpha-nDCG of 1.30 in recsys_metrics, one that shows copies 1.00.
#
# Guess before the run: `alpha_normalized_dcg` divides by the best ranking there is, one that takes what is new first,
# so that no ranking has more than 1, and copies have less.
# Seen: recsys_metrics 0.0.4. The ideal ranking is by the number of topics of a passage, as if none had been seen
# before. Where five passages are copies with two topics, and five have one topic each that is new, five copies first
# are the ideal, 1.00, and one of them with four different ones after it has 1.30 with alpha .5 and 1.85 with .9. So a
# mean over queries mixes scores of different ceilings, and no 1.00 says that a ranking can't be better.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    recsys_metrics==0.0.4 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from recsys_metrics import alpha_normalized_dcg

target = torch.zeros(1, 10, 7)
target[:, :5, :2] = 1
target[0, range(5, 10), range(2, 7)] = 1
scores = {
    "copies first": [10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    "one, then different": [10, 5, 4, 3, 2, 9, 8, 7, 6, 5.5],
    "different first": [5, 4, 3, 2, 1, 10, 9, 8, 7, 6],
}
parts = []
for alpha in (0.5, 0.9):
    values = []
    for name, row in scores.items():
        value = alpha_normalized_dcg(torch.tensor([row], dtype=torch.float32), target, alpha=alpha, k=5)
        values.append(f"{name} {value:.2f}")
    parts.append(f"alpha {alpha}: {', '.join(values)}")
version = importlib.metadata.version("recsys_metrics")
print(f"recsys_metrics {version}, alpha-nDCG@5, {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "recsys_metrics 0.0.4, alpha-nDCG@5, alpha 0.5: copies first 1.00, one, then different 1.30, different\
 first 0.97; alpha 0.9: copies first 1.00, one, then different 1.85, different first 1.38"
