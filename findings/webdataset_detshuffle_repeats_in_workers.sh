#!/usr/bin/env bash
# The deterministic shuffle of webdataset, seeded "on a seed and epoch", repeats its order in all epochs with workers.
#
# Guess before the run: `webdataset.detshuffle(100, seed=0)` in a WebDataset has another order in each epoch, and the
# same ones in each run, with a DataLoader of two workers as without one.
# Seen: webdataset 1.0.2 with torch 2.13.0. The stage counts its epochs itself. A DataLoader makes its workers anew for
# each epoch, from the dataset of the main process, in which no epoch has ever begun: all three epochs have one order,
# and a BERT sees the same batches again and again. Without workers, and with `persistent_workers=True`, all three
# orders differ. A plain `shuffle(100, seed=0)` begins its seed anew in each epoch and repeats in all cases.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    webdataset==1.0.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
import warnings

import webdataset
from torch.utils.data import DataLoader

warnings.simplefilter("ignore")
path = f"{sys.prefix}/texts-%d.tar"
for shard in range(2):
    with webdataset.TarWriter(path % shard) as writer:
        for number in range(100):
            writer.write({"__key__": f"{shard}{number:03d}", "cls": shard * 100 + number})


def orders(shuffle, **options):
    """How many orders three epochs have."""
    data = webdataset.WebDataset([path % 0, path % 1], shardshuffle=False).compose(shuffle).decode().to_tuple("cls")
    loader = DataLoader(data, batch_size=None, **options)
    epochs = [tuple(int(label) for label, in loader) for _ in range(3)]
    assert all(sorted(epoch) == list(range(200)) for epoch in epochs)
    return len(set(epochs))


stages = {
    "detshuffle": lambda: webdataset.detshuffle(100, seed=0),
    "shuffle(seed=0)": lambda: webdataset.shuffle(100, seed=0),
}
parts = []
for name, stage in stages.items():
    counts = [
        orders(stage()),
        orders(stage(), num_workers=2),
        orders(stage(), num_workers=2, persistent_workers=True),
    ]
    parts.append(f"{name} {counts[0]} without workers, {counts[1]} with two, {counts[2]} with persistent ones")
print(f"webdataset {importlib.metadata.version('webdataset')}, orders of three epochs: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "webdataset 1.0.2, orders of three epochs: detshuffle 3 without workers, 1 with two, 3 with persistent\
 ones; shuffle(seed=0) 1 without workers, 1 with two, 1 with persistent ones"
