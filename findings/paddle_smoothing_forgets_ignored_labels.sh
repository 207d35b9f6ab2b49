#!/usr/bin/env bash
# Label smoothing makes Paddle's cross entropy count ignored labels, and divide the mean by the number of classes.
#
# Guess before the run: `cross_entropy(ignore_index=0, label_smoothing=.1)` leaves padding, label 0, out of the sum and
# of the mean, as it does without smoothing and as PyTorch does with it.
# Seen: Paddle 3.3.1, PyTorch 2.13.0. With smoothing labels are made vectors first, so that no label is the ignored one
# any more: the sum is that of all words, 41.24 for 21.91. The mean is that sum divided by words times classes: .05
# where 5.48 is right, with 100 classes; with the 30,522 words of BERT it is 30,522 times too small. Without
# `ignore_index` the smoothed mean is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    paddlepaddle==3.3.1 setuptools==81.0.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import paddle
import torch

random = np.random.default_rng(0)
scores = random.normal(size=(8, 100)).astype(np.float32)
labels = np.array([5, 17, 99, 3, 0, 0, 0, 0])
parts = []
for name, options in {
    "ignore_index": {"ignore_index": 0},
    "smoothing": {"label_smoothing": 0.1},
    "both": {"ignore_index": 0, "label_smoothing": 0.1},
}.items():
    values = []
    for reduction in ("sum", "mean"):
        here = paddle.nn.functional.cross_entropy(
            paddle.to_tensor(scores), paddle.to_tensor(labels), reduction=reduction, **options
        )
        there = torch.nn.functional.cross_entropy(
            torch.tensor(scores), torch.tensor(labels), reduction=reduction, **options
        )
        values.append(f"{reduction} {float(here):.2f} {float(there):.2f}")
    parts.append(f"{name} {' '.join(values)}")
print(f"paddle {paddle.__version__}, torch {torch.__version__.split('+')[0]}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "paddle 3.3.1, torch 2.13.0: ignore_index sum 22.08 22.08 mean 5.52 5.52; smoothing sum 41.24 41.24\
 mean 5.15 5.15; both sum 41.24 21.91 mean 0.05 5.48"
