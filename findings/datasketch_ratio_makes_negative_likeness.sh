#!/usr/bin/env bash
# With the size of the universe named, datasketch's b-bit MinHash finds texts that share nothing to be -.08 alike.
#
# Guess before the run: `bBitMinHash(minhash, b, r)` estimates the Jaccard similarity without a bias for any `r`, "the
# expected ratio of set size to the size of the universe", and for a small one as for 0, "the limit as the ratio goes to
# zero".
# Seen: datasketch 2.0.0, 20 pairs of sets with 256 permutations. With r=0 and 5 bits the estimates of .00, .10 and .50
# are right to .01; with r=.000001 they are -.08, .03 and .46. By the formula of b-bit minwise hashing two values that
# differ agree in their lowest b bits with a probability of 1/2^b, 1 in 32; the package computes 2 b where 2^b stands in
# the formula, so that it is 1 in 10. For one and two bits the two are equal. A threshold for near-duplicates that was
# chosen without `r` keeps texts that it should drop.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    datasketch==2.0.0 numpy==2.4.6 scipy==1.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from datasketch import MinHash, bBitMinHash

random = np.random.default_rng(0)


def pair(similarity, size=1000):
    """MinHashes of two sets of numbers that share as many as the similarity says."""
    shared = round(2 * size * similarity / (1 + similarity))
    numbers = random.integers(0, 2**60, size=2 * size - shared)
    hashes = []
    for part in (numbers[:size], numbers[-size:]):
        hashes.append(MinHash(num_perm=256))
        hashes[-1].update_batch([int(number).to_bytes(8, "little") for number in part])
    return hashes


pairs = {similarity: [pair(similarity) for _ in range(20)] for similarity in (0.0, 0.1, 0.5)}
parts = []
for bits in (2, 4, 5, 8):
    words = []
    for ratio in (0.0, 1e-6):
        means = []
        for group in pairs.values():
            means.append(np.mean([bBitMinHash(a, bits, ratio).jaccard(bBitMinHash(b, bits, ratio)) for a, b in group]))
        words.append(f"r={ratio:g} {' '.join(f'{mean:.2f}' for mean in means)}")
    parts.append(f"{bits} bits {', '.join(words)}")
print(f"datasketch {importlib.metadata.version('datasketch')}, estimates of 0, .1, .5: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "datasketch 2.0.0, estimates of 0, .1, .5: 2 bits r=0 -0.00 0.10 0.49, r=1e-06 -0.00 0.10 0.49; 4 bits\
 r=0 -0.00 0.10 0.50, r=1e-06 -0.08 0.04 0.46; 5 bits r=0 -0.00 0.10 0.50, r=1e-06 -0.08 0.03 0.46; 8 bits r=0 -0.00\
 0.10 0.50, r=1e-06 -0.06 0.04 0.47"
