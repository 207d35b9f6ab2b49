#!/usr/bin/env bash
# A simhash of 256 bits is 0 for texts that have nothing in common: their distance is 0, and one of the two is dropped.
#
# Guess before the run: `Simhash(text, f=256)` of the package simhash, whose `f` has to be a multiple of 8, has a
# distance of about 128 bits between texts that have nothing in common, as `f=64` has about 32.
# Seen: simhash 2.1.2. With 64 and 128 bits it is about half of the bits. With 256 the default hash, MD5, has 128
# bits: two features lie in one row, half as many rows are counted, and no bit can have more than half of the votes.
# All values are 0, all distances 0, and `SimhashIndex` finds all 40 texts near the first one. With SHA-256 it is
# right. (A text with an odd number of features is an error, which would tell; this one is not.)
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    simhash==2.1.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import hashlib
import importlib.metadata
import random

import numpy as np
from simhash import Simhash, SimhashIndex

source = random.Random(0)
texts = [[f"word{source.randrange(10**6)}" for _ in range(60)] for _ in range(40)]


def sha256(value):
    return hashlib.sha256(value).digest()


cases = {f"{f} bits": {"f": f} for f in (64, 128, 256)}
cases["SHA-256"] = {"f": 256, "hashfunc": sha256}
parts = []
for name, options in cases.items():
    hashes = [Simhash(text, **options) for text in texts]
    distances = [hashes[i].distance(hashes[j]) for i in range(40) for j in range(i)]
    index = SimhashIndex([(str(number), value) for number, value in enumerate(hashes)], f=options["f"], k=3)
    zeros = sum(value.value == 0 for value in hashes)
    near = len(index.get_near_dups(hashes[0]))
    parts.append(f"{name}: mean {np.mean(distances):.0f}, {zeros} zeros, {near} near the first")
print(f"simhash {importlib.metadata.version('simhash')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "simhash 2.1.2: 64 bits: mean 32, 0 zeros, 1 near the first; 128 bits: mean 64, 0 zeros, 1 near the\
 first; 256 bits: mean 0, 40 zeros, 40 near the first; SHA-256: mean 126, 0 zeros, 1 near the first"
