#!/usr/bin/env bash
# A LayerNorm of numbers about 2,000, as years, is NaN in ExecuTorch: the variance is a difference of two large squares.
#
# Guess before the run: PyTorch's LayerNorm of 64 units whose mean is 100, 1,000 or 2,000 and whose deviation is 1 is
# the same in ExecuTorch up to .05, for float32 has seven digits.
# Seen: executorch 1.5.1 with torch 2.14.1. The outputs, at most about 4, differ by .01 at a mean of 100, .11 at 300 and
# 3 at 1,000; at 2,000, where a BERT reads years beside its words, 15 of 100 rows are NaN and others above 1,000. The
# kernel takes the mean of the squares less the square of the mean, which rounding makes too small, or negative.
# PyTorch's outputs are the same at all means up to .01.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    executorch==1.5.1 torch==2.14.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch

from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

torch.manual_seed(0)
norm = torch.nn.LayerNorm(64).eval()
rows = torch.randn(100, 64)
program = to_edge_transform_and_lower(torch.export.export(norm, (rows,))).to_executorch()
method = Runtime.get().load_program(program.buffer).load_method("forward")
words = []
for mean in (0, 100, 300, 1000, 2000):
    right = norm(rows + mean)
    found = method.execute([rows + mean])[0]
    off = (found - right).abs().nan_to_num(0).max().item()
    size = "more than 1" if off > 1 else "more than .05" if off > 0.05 else "at most .05"
    words.append(f"{mean} off by {size}{', some NaN' if found.isnan().any() else ''}")
    assert (right - norm(rows)).abs().max() < 0.01
print(f"executorch {importlib.metadata.version('executorch')}, 100 rows of mean {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "executorch 1.5.1, 100 rows of mean 0 off by at most .05; 100 off by at most .05; 300 off by more than\
 .05; 1000 off by more than 1; 2000 off by more than 1, some NaN"
