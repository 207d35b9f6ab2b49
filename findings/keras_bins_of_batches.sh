#!/usr/bin/env bash
# Bins that Keras learns of a dataset lie where its batches of 199 values have them: such batches count twice.
#
# Guess before the run: `Discretization(num_bins=2)` cuts at the median, within its tolerance of .01, whatever the
# batches of a dataset are; and `num_bins=49` makes 49 bins.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. Of 199 values from 0 to 100 and 199 from 200 to 300, in two batches, it cuts
# at 100. With the second half in batches of 100 and 99 it cuts at 75, below 3/8 of the values: of a batch with 100 to
# 199 values every value is kept, and counts as much as their number divided by 100. `num_bins=49` makes 50 bins, the
# last of which holds the largest value alone; so do 98, 103, 107 and others, as steps of 1 / 49 are counted in floating point.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

low = np.linspace(0.0, 100.0, 199)
high = np.linspace(200.0, 300.0, 199)
words = [f"keras {keras.__version__}:"]
for batches in ([low, high], [low, high[::2], high[1::2]]):
    layer = keras.layers.Discretization(num_bins=2)
    layer.adapt(batches)
    words.append(f"{len(batches)} batches, cut at {layer.bin_boundaries[0]:.0f};")
for bins in (48, 49, 50):
    layer = keras.layers.Discretization(num_bins=bins)
    layer.adapt(np.linspace(0.0, 1.0, 10000))
    words.append(f"of {bins} bins {len(layer.bin_boundaries) + 1};")
print(*words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 2 batches, cut at 100; 3 batches, cut at 75; of 48 bins 48; of 49 bins 50; of 50 bins 50;"
