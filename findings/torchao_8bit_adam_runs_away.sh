#!/usr/bin/env bash
# In 60 steps of 0.001 the 8-bit AdamW of torchao moves weights by 14, and that of FP8 by 69, where gradients differ.
#
# Guess before the run: Adam moves no weight by more than about the learning rate in a step, whatever the gradients'
# size, and an 8-bit state makes little of it inexact: 0.06 at most in 60 steps, as in bitsandbytes.
# Seen: torchao 0.18.0, bitsandbytes 0.50.2, PyTorch 2.13.0 on the CPU, no error, finite weights. Numbers: the greatest
# move if the columns' gradients differ up to 1, 10, 100, 1,000 and 10,000 times. A mean of squares that is small beside
# the greatest of its block of 256 is stored as 0 (of 19 % of the weights at 8 bits, 33 % in FP8), while the mean of
# gradients, which differs by the root only, is kept: the next step divides it by the size of its own gradient alone,
# which may be nearly 0. Rows of rare and of frequent words in a word embedding of 64 units share a block.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes. Needs a C++ compiler,
# for torch.compile.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchao==0.18.0 bitsandbytes==0.50.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import bitsandbytes
import torch
import torchao.optim


def move(optimizer_class, smallest):
    """Returns the largest change of a weight in 60 steps of 0.001; gradients differ by column, from `smallest` to 1."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.zeros(64, 128))
    optimizer = optimizer_class([weight], lr=0.001, weight_decay=0.0)
    for _ in range(60):
        weight.grad = torch.randn(64, 128) * torch.logspace(smallest, 0, 128)
        optimizer.step()
    return float(weight.detach().abs().max())


classes = {
    "torch AdamW": torch.optim.AdamW,
    "bitsandbytes AdamW8bit": bitsandbytes.optim.AdamW8bit,
    "torchao AdamW8bit": torchao.optim.AdamW8bit,
    "torchao AdamWFp8": torchao.optim.AdamWFp8,
}
words = []
for name, optimizer_class in classes.items():
    words.append(f"{name} {', '.join(f'{move(optimizer_class, smallest):.2g}' for smallest in (0, -1, -2, -3, -4))}")
print(f"torchao {importlib.metadata.version('torchao')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchao 0.18.0: torch AdamW 0.03, 0.03, 0.03, 0.03, 0.03; bitsandbytes AdamW8bit 0.03, 0.031, 0.031,\
 0.044, 0.036; torchao AdamW8bit 0.03, 0.031, 0.031, 0.091, 14; torchao AdamWFp8 0.03, 0.03, 0.088, 20, 69"
