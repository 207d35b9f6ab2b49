#!/usr/bin/env bash
# The package nadir decays LayerNorms and biases that are in a group without decay: it reads the decay of no group.
#
# Guess before the run: of the usual two groups of a BERT, `{"params": norms, "weight_decay": 0.0}` is not decayed, as
# in PyTorch, and a learning rate of a group counts as well.
# Seen: nadir 0.1.1. The learning rate of a group counts, but the decay is always the one of the config: with gradients
# of 0, a rate of .1 and a decay of .1 all weights are at .90 after ten steps, also those of the group that says 0,
# with SGD and with Adam. PyTorch's AdamW leaves the group at 1.00.
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


def weights(make):
    kernel, norm = (torch.ones(1, requires_grad=True) for _ in range(2))
    optimizer = make([{"params": [kernel]}, {"params": [norm], "weight_decay": 0.0}])
    for _ in range(10):
        kernel.grad, norm.grad = torch.zeros(1), torch.zeros(1)
        optimizer.step()
    return f"{kernel.item():.2f} {norm.item():.2f}"


options = {"lr": 0.1, "weight_decay": 0.1}
words = [
    f"{name} {weights(lambda groups: getattr(nadir, name)(groups, getattr(nadir, name + 'Config')(**options)))},"
    for name in ("SGD", "Adam")
]
print(
    f"nadir {importlib.metadata.version('nadir')}: decayed and excluded weight:",
    *words,
    f"PyTorch's AdamW {weights(lambda groups: torch.optim.AdamW(groups, **options))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "nadir 0.1.1: decayed and excluded weight: SGD 0.90 0.90, Adam 0.90 0.90, PyTorch's AdamW 0.90 1.00"
