#!/usr/bin/env bash
# ADOPT of heavyball moves the vector of a word that first comes in the second batch by 508,000, at a rate of .001.
#
# Guess before the run: with ADOPT at a learning rate of .001 a word's vector moves by a few thousandths in a step, as
# that of pytorch-optimizer has it, whichever batch the word first comes in.
# Seen: heavyball 3.2.1. A gradient is divided by the root of the squares of the batches before, and by 1e-8 where
# these are 0, with no limit. Words of the first batch move by .03 in five steps; those that are first in the second
# batch by 508,000. With AdamW of the same package it is .005 and .003, with ADOPT of pytorch-optimizer less than .01.
# Of a BERT's 30,000 words most are in no first batch.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    heavyball==3.2.1 pytorch-optimizer==4.1.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import heavyball
import pytorch_optimizer
import torch

heavyball.utils.compile_mode = None


def moved(kind):
    """How far words of the first batch, and those of the later ones, move in five steps."""
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(30, 8)
    start = embedding.weight.detach().clone()
    optimizer = kind(embedding.parameters(), lr=1e-3)
    for step in range(5):
        ids = torch.arange(10 if step == 0 else 20)
        gradients = torch.randn(len(ids), 8, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        (embedding(ids) * gradients).sum().backward()
        optimizer.step()
    far = (embedding.weight.detach() - start).abs().amax(1)
    return f"{far[:10].max():.3f} and {far[10:20].max():.3g}"


kinds = {
    "heavyball ADOPT": heavyball.ADOPT,
    "AdamW": heavyball.AdamW,
    "pytorch-optimizer ADOPT": pytorch_optimizer.ADOPT,
}
words = [f"{name} {moved(kind)}" for name, kind in kinds.items()]
version = importlib.metadata.version("heavyball")
print(f"heavyball {version}, words of the first batch and of the second: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "heavyball 3.2.1, words of the first batch and of the second: heavyball ADOPT 0.032 and 5.08e+05,\
 AdamW 0.005 and 0.00337, pytorch-optimizer ADOPT 0.001 and 0.00118"
