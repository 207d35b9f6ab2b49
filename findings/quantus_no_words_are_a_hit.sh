#!/usr/bin/env bash
# A text in which no word is marked is a hit in the pointing game of Quantus: NaN becomes True in an array of booleans.
#
# Guess before the run: `PointingGame` leaves out texts whose mask is empty, as the localisation metrics beside it do,
# whose score of such a text is NaN; its score is .5 where two of four texts with marked words are hit.
# Seen: Quantus 0.6.0. It writes NaN for these texts into an array of booleans, where it is True. Of ten texts, four
# with marked words, of which two are hit, and six without, eight are hits: .80. `TopKIntersection`,
# `RelevanceRankAccuracy` and `AttributionLocalisation` have NaN for the six. Texts without a rationale, as those of
# the negative class, make any explanation look better.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 scikit-image==0.26.0 pandas==3.1.1 matplotlib==3.11.2 \
    opencv-python-headless==5.0.0.93 tqdm==4.70.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    quantus==0.6.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import quantus
import torch

model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8, 2)).eval()
inputs = np.random.default_rng(0).random((10, 1, 8)).astype("float32")
masks = np.zeros((10, 1, 8), bool)
masks[:4, 0, :2] = True
attributions = np.zeros((10, 1, 8))
attributions[:2, 0, 0] = 1.0
attributions[2:, 0, 7] = 1.0
call = {"model": model, "x_batch": inputs, "y_batch": np.zeros(10, int), "device": "cpu"}
words = []
for name, options in (
    ("PointingGame", {}),
    ("TopKIntersection", {"k": 1}),
    ("RelevanceRankAccuracy", {}),
    ("AttributionLocalisation", {}),
):
    metric = getattr(quantus, name)(disable_warnings=True, **options)
    values = np.array(metric(a_batch=attributions.copy(), s_batch=masks.copy(), **call), float)
    words.append(f"{name} {np.nanmean(values):.2f}, NaN for {np.isnan(values).sum()}")
print(f"quantus {importlib.metadata.version('quantus')}, two of four texts hit, six empty: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "quantus 0.6.0, two of four texts hit, six empty: PointingGame 0.80, NaN for 0; TopKIntersection 0.50,\
 NaN for 6; RelevanceRankAccuracy 0.75, NaN for 6; AttributionLocalisation 0.50, NaN for 6"
