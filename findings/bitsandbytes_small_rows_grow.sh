#!/usr/bin/env bash
# Double quantization of bitsandbytes makes rows of weights that are a thousandth of the others several times as large.
#
# Guess before the run: with double quantization, as QLoRA uses it, the scales of blocks of 64 weights are stored in 8
# bits, which costs a percent or so of accuracy more than scales in float32, in all rows.
# Seen: bitsandbytes 0.50.2, PyTorch 2.13.0. The mean of 256 scales is taken off and the rest is rounded to 8 bits of
# the largest: the error is a share of the largest scale, not of each. Rows of a hundredth of the others come back 1.3
# times as large, and of a thousandth 6.8 times, their directions right; without it both are within 2%. Weights of units
# that were pruned to almost nothing, or of words that are rarely seen, have another size after loading, and nothing
# says so.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    bitsandbytes==0.50.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from bitsandbytes.functional import dequantize_4bit, quantize_4bit

words = []
for double in (False, True):
    for share in (1.0, 0.1, 0.01, 0.001):
        torch.manual_seed(0)
        weights = torch.randn(64, 64) * 0.02
        weights[:8] *= share
        quantized, state = quantize_4bit(weights, quant_type="nf4", compress_statistics=double)
        small = dequantize_4bit(quantized, state)[:8]
        ratio = (small.norm(dim=1) / weights[:8].norm(dim=1)).mean()
        words.append(f"{'double' if double else 'plain'} {share} {ratio:.1f}")
print(f"bitsandbytes {importlib.metadata.version('bitsandbytes')}, size of the smaller rows: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bitsandbytes 0.50.2, size of the smaller rows: plain 1.0 1.0, plain 0.1 1.0, plain 0.01 1.0, plain 0.0\
01 1.0, double 1.0 1.0, double 0.1 1.0, double 0.01 1.3, double 0.001 6.8"
