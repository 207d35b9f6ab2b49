#!/usr/bin/env bash
# The weighted localisation of Quantus depends on the batch, is infinite for two texts, and rewards long rationales.
#
# Guess before the run: `AttributionLocalisation(weighted=True)` multiplies the share of the attributions inside of the
# marked words by the number of words over the number of marked ones, as in the paper that it names (Kohlbrenner et al.
# 2020): 2.67 for a share of .67 and two words of eight.
# Seen: Quantus 0.6.0. It multiplies by the inverse, marked words over all, so that a longer rationale counts more; and
# the words it divides by are those of all texts of the batch but the first two (`x_batch[2:].size`): the same text has
# .17 in a batch of three, .08 of four, .04 of six, and infinity in a batch of two. Without weights it is .67
# everywhere.
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
inputs = np.random.default_rng(0).random((6, 1, 8)).astype("float32")
masks = np.zeros((6, 1, 8), bool)
masks[:, 0, :2] = True
masks[1, 0, :6] = True
attributions = np.zeros((6, 1, 8))
attributions[:, 0, 0] = 1.0
attributions[:, 0, 7] = 0.5
words = []
for weighted in (False, True):
    metric = quantus.AttributionLocalisation(weighted=weighted, disable_warnings=True)
    parts = []
    for size in (2, 3, 4, 6):
        values = metric(
            model=model,
            x_batch=inputs[:size],
            y_batch=np.zeros(size, int),
            a_batch=attributions[:size].copy(),
            s_batch=masks[:size].copy(),
            device="cpu",
        )
        parts.append(f"{size} texts {values[0]:.2f} {values[1]:.2f}")
    words.append(f"weighted={weighted} {', '.join(parts)}")
version = importlib.metadata.version("quantus")
print(f"quantus {version}, two and six of eight words marked: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "quantus 0.6.0, two and six of eight words marked: weighted=False 2 texts 0.67 0.67, 3 texts 0.67\
 0.67, 4 texts 0.67 0.67, 6 texts 0.67 0.67; weighted=True 2 texts inf inf, 3 texts 0.17 0.50, 4 texts 0.08 0.25, 6\
 texts 0.04 0.12"
