#!/usr/bin/env bash
# RAdam of the package nadir takes its first step in full, as Adam does: the warmup that it is made for comes after it.
#
# Guess before the run: RAdam leaves the adaptive steps out while it has seen too few gradients for them, five at a
# second rate of .999: with gradients of .0001 a weight hardly moves at first.
# Seen: nadir 0.1.1. The length of the average is computed with the number of the step less one, so that it is as long
# as it can be in the first step: a gradient of .0001 moves a weight by .001 there, the whole rate, as in Adam;
# PyTorch's RAdam moves it by .0000001. Then they fall, to .0007 and .0006, where they are to begin small and grow. A
# fresh classifier on a BERT gets the kick that RAdam is to avoid.
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


def steps(optimizer, **options):
    weight = torch.zeros(1, requires_grad=True)
    optimizer = optimizer([weight], **options)
    places = [0.0]
    for _ in range(4):
        weight.grad = torch.tensor([0.0001])
        optimizer.step()
        places.append(-weight.item())
    return " ".join(f"{after - before:.7f}" for before, after in zip(places, places[1:]))


print(
    f"nadir {importlib.metadata.version('nadir')}:",
    f"steps of RAdam {steps(nadir.Radam, config=nadir.RadamConfig(lr=0.001, beta_2=0.999, eps=1e-16))},",
    f"PyTorch's {steps(torch.optim.RAdam, lr=0.001, eps=1e-8)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nadir 0.1.1: steps of RAdam 0.0010000 0.0007064 0.0005765 0.0004993, PyTorch's 0.0000001 0.0000001\
 0.0000001 0.0000001"
