#!/usr/bin/env bash
# A training of torchdata's StatefulDataLoader that is resumed leaves texts out if it was given a random sampler.
#
# Guess before the run: `StatefulDataLoader`, a DataLoader with `state_dict`, goes on where it was stopped
# with PyTorch's own samplers: each of 1,000 texts comes once in the epoch.
# Seen: torchdata 0.11.0. With `shuffle=True` each text comes once. With `sampler=RandomSampler(texts)`, which is the
# same order by another name, 246 texts never come and as many come twice; with a SubsetRandomSampler 240; with a
# BatchSampler over a RandomSampler 246. The loader replaces its own random sampler by one that keeps its state; one
# that it is given draws a new order, of which the first 50 batches are skipped. Nothing is said. A BERT whose batches
# are of texts of one length, or of a part of the data, is resumed like this.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torchdata==0.11.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from torch.utils.data import BatchSampler, RandomSampler, SubsetRandomSampler
from torchdata.stateful_dataloader import StatefulDataLoader

texts = list(range(1000))
loaders = {
    "shuffle": lambda: StatefulDataLoader(texts, batch_size=10, shuffle=True),
    "sampler=RandomSampler": lambda: StatefulDataLoader(texts, batch_size=10, sampler=RandomSampler(texts)),
    "sampler=SubsetRandomSampler": lambda: StatefulDataLoader(texts, batch_size=10, sampler=SubsetRandomSampler(texts)),
    "batch_sampler": lambda: StatefulDataLoader(texts, batch_sampler=BatchSampler(RandomSampler(texts), 10, False)),
}
parts = []
for name, new in loaders.items():
    torch.manual_seed(0)
    loader = new()
    batches = iter(loader)
    seen = [text for _ in range(50) for text in next(batches).tolist()]
    state = loader.state_dict()
    torch.manual_seed(1)
    loader = new()
    loader.load_state_dict(state)
    seen += [text for batch in loader for text in batch.tolist()]
    parts.append(f"{name} {len(seen)}, {1000 - len(set(seen))}")
print(f"torchdata {importlib.metadata.version('torchdata')}, texts in an epoch and left out: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "torchdata 0.11.0, texts in an epoch and left out: shuffle 1000, 0; sampler=RandomSampler 1000, 246;\
 sampler=SubsetRandomSampler 1000, 240; batch_sampler 1000, 246"
