#!/usr/bin/env bash
# The default `ignore_index=-1` of tinygrad ignores nothing: labels of -1 count in the mean, as tokens without any loss.
#
# Guess before the run: labels of -1 are left out of the mean, as labels of -100 are with ignore_index=-100: of two rows
# of 20 tokens with 3 predicted ones each, the loss is the mean of 6.
# Seen: tinygrad 0.14.0 (device PYTHON, which interprets its kernels), sparse_categorical_crossentropy, whose page
# refers to PyTorch's. With -100 it is PyTorch's loss, 4.105; with -1, given or by default, 0.616, which is the sum over
# 6 tokens divided by all 40. With label smoothing the tokens to ignore have a loss, too. In the source -1 is the mark
# of "no index is ignored", and a label of -1 becomes a row of zeros.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tinygrad==0.14.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import torch
from tinygrad import Tensor

logits = np.random.default_rng(0).normal(size=[2, 20, 50]).astype(np.float32)
parts = []
for ignored in (-100, -1):
    labels = np.full([2, 20], ignored, np.int32)
    labels[:, ::7] = 3
    for smoothing in (0.0, 0.1):
        arguments = {"ignore_index": ignored, "label_smoothing": smoothing}
        loss = Tensor(logits).sparse_categorical_crossentropy(Tensor(labels), **arguments).item()
        rows = torch.tensor(logits).flatten(0, 1), torch.tensor(labels).long().flatten()
        reference = torch.nn.functional.cross_entropy(*rows, **arguments).item()
        parts.append(f"{ignored}, smoothing {smoothing:g}: {loss:.3f}, torch {reference:.3f}")
print(f"tinygrad {importlib.metadata.version('tinygrad')}; {'; '.join(parts)}")
PYTHON
seen=$(DEV=PYTHON "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tinygrad 0.14.0; -100, smoothing 0: 4.105, torch 4.105; -100, smoothing 0.1: 4.128, torch 4.128; -1,\
 smoothing 0: 0.616, torch 4.105; -1, smoothing 0.1: 0.993, torch 4.128"
