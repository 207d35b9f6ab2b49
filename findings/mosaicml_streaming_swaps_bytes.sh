#!/usr/bin/env bash
# Big-endian integers come back from an MDS file of mosaicml-streaming with their bytes swapped: 1 is 16777216.
#
# Guess before the run: an array that is written as "ndarray" is read with the values that it had; if a byte order can't
# be kept, it is refused, as with the encoding "ndarray:int32", which names the type.
# Seen: mosaicml-streaming 0.13.0, NumPy 2.1.3. The token ids 101, 2054 and 102 of dtype ">i4", as arrays from IDX,
# FITS, HDF5 or NumPy files may be, are other numbers on a little-endian machine: the file holds the name of the type,
# "int32", which doesn't tell the order, and the bytes as they lie in memory. Float32 values become nearly 0 or huge.
# With "ndarray:int32" it is an error of the type, "expected int32, got int32".
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.57.6 numpy==2.1.3 brotli==1.2.1 catalogue==2.0.10 filelock==4.3.1 tqdm==4.70.1 \
    python-snappy==0.7.3 xxhash==3.8.2 zstd==1.5.7.2 pandas==3.1.1 pillow==13.0.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    mosaicml-streaming==0.13.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.machinery
import importlib.metadata
import sys
import tempfile
import types

import numpy as np

# The vision part of the package wants torchvision, which isn't used here.
for name in ("", ".datasets", ".transforms", ".transforms.functional"):
    module = types.ModuleType(f"torchvision{name}")
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    module.VisionDataset, module.to_tensor = object, None
    sys.modules[module.__name__] = module
from streaming import MDSWriter, StreamingDataset

folder = tempfile.mkdtemp()
ids = [101, 2054, 102]
with MDSWriter(out=folder, columns={"ids": "ndarray", "scores": "ndarray"}) as writer:
    for order in "<>":
        writer.write({"ids": np.array(ids, f"{order}i4"), "scores": np.array([0.5, 1.0], f"{order}f4")})
rows = list(StreamingDataset(local=folder, batch_size=1, shuffle=False))
parts = [" ".join(map(str, row["ids"].tolist())) for row in rows]
score = rows[1]["scores"][0]
print(
    f"mosaicml-streaming {importlib.metadata.version('mosaicml-streaming')}: ids {' '.join(map(str, ids))} are read as",
    f"{parts[0]} if little-endian and {parts[1]} if big-endian, where .5 is {score:.1e}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mosaicml-streaming 0.13.0: ids 101 2054 102 are read as 101 2054 102 if little-endian and 1694498816 1\
01187584 1711276032 if big-endian, where .5 is 8.8e-44"
