#!/usr/bin/env bash
# RMSProp and Adagrad of the package nadir are plain SGD: nothing is adapted, and rare words learn 100 times as slowly.
#
# Guess before the run: `RMSProp` and `Adagrad` divide a gradient by the root of the squares that were before, so that
# a weight with gradients of .01 moves as far as one with gradients of 1.
# Seen: nadir 0.1.1. After 20 steps at a rate of .001 both have moved the two weights by .0200 and .0002, as its SGD
# does: the method that adapts is never called, and no squares are kept. PyTorch's RMSprop with the same numbers moves
# both by .0286, its Adagrad by .0076. Adam of nadir is adaptive.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    nadir==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import nadir
import torch


def moved(optimizer, **options):
    weights = torch.zeros(2, requires_grad=True)
    optimizer = optimizer([weights], **options)
    for _ in range(20):
        weights.grad = torch.tensor([1.0, 0.01])
        optimizer.step()
    return " ".join(f"{-weight:.4f}" for weight in weights.tolist())


rate = 0.001
words = [
    f"SGD {moved(nadir.SGD, config=nadir.SGDConfig(lr=rate))}",
    f"RMSProp {moved(nadir.RMSProp, config=nadir.RMSPropConfig(lr=rate))}",
    f"(PyTorch {moved(torch.optim.RMSprop, lr=rate, alpha=0.9)})",
    f"Adagrad {moved(nadir.Adagrad, config=nadir.AdagradConfig(lr=rate))}",
    f"(PyTorch {moved(torch.optim.Adagrad, lr=rate)})",
    f"Adam {moved(nadir.Adam, config=nadir.AdamConfig(lr=rate))}",
]
print(f"nadir {importlib.metadata.version('nadir')}:", *words)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nadir 0.1.1: SGD 0.0200 0.0002 RMSProp 0.0200 0.0002 (PyTorch 0.0286 0.0286) Adagrad 0.0200 0.0002\
 (PyTorch 0.0076 0.0076) Adam 0.0200 0.0200"
