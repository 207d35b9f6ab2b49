#!/usr/bin/env bash
# A model that says .5 of all texts, rightly, has a calibration error of .50 in calikit if the file is sorted by label.
#
# Guess before the run: one probability for all texts makes one bin, so that a model that always says the base rate has
# a calibration error of 0, in any order of the file.
# Seen: calikit 0.1.0. Its default bins hold equally many texts, and equal probabilities are cut apart in the order of
# the file. For 1,000 texts it is .50 if the positive ones come first, .00 if they take turns, .06 in a random order;
# with bins of equal width it is .00. A judge that says .6, .7, .8 or .9, each rightly, has .24 in a sorted file and .02
# in a mixed one, and its largest error is .45. Files sorted by label are usual, and so are scores in steps.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    calikit==0.1.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import calikit
import numpy as np

rng = np.random.default_rng(0)


def error(probabilities, labels, scheme="mass"):
    bins = calikit.bin_predictions(list(map(float, probabilities)), list(map(int, labels)), k=10, scheme=scheme)
    return f"{calikit.ece(bins):.2f} (most {calikit.mce(bins):.2f})"


half = np.full(1000, 0.5)
turns = np.tile([1, 0], 500)
steps = np.repeat([0.6, 0.7, 0.8, 0.9], 250)
right = np.concatenate([np.arange(250) < 250 * step for step in (0.6, 0.7, 0.8, 0.9)]).astype(int)
order = np.argsort(-right, kind="stable")
mixed = rng.permutation(1000)
parts = [
    f".5 for all: positive ones first {error(half, np.sort(turns)[::-1])}",
    f"in turns {error(half, turns)}",
    f"random {error(half, rng.permutation(turns))}",
    f"equal width {error(half, np.sort(turns)[::-1], 'width')}",
    f".6 to .9: sorted {error(steps[order], right[order])}",
    f"mixed {error(steps[mixed], right[mixed])}",
    f"equal width {error(steps[order], right[order], 'width')}",
]
print(f"calikit {importlib.metadata.version('calikit')}: {', '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "calikit 0.1.0: .5 for all: positive ones first 0.50 (most 0.50), in turns 0.00 (most 0.00), random\
 0.06 (most 0.10), equal width 0.00 (most 0.00), .6 to .9: sorted 0.24 (most 0.45), mixed 0.02 (most 0.04), equal\
 width 0.00 (most 0.00)"
