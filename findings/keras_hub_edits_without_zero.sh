#!/usr/bin/env bash
# The edit distance of KerasHub doesn't see the token 0, and counts it: sequences that differ by it are equal.
#
# Guess before the run: `EditDistance` of the ids [0, 1, 2] and [1, 2] is one deletion, as that of [5, 1, 2] and [1, 2].
# Seen: KerasHub 0.32.0. It is 0: the ids are made sparse, which leaves zeros out. Where 0 is padding it is left out of
# the distance, but not of the length that this is divided by: with one of two ids wrong the normalized
# distance is .50 without padding, .25 with two zeros and .05 with 18.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras_hub
import tensorflow as tf


def distance(right, found, normalize):
    metric = keras_hub.metrics.EditDistance(normalize=normalize)
    metric.update_state(tf.constant([right]), tf.constant([found]))
    return float(metric.result())


words = [f"without {first} {distance([first, 1, 2], [1, 2], False):g}," for first in (5, 0)]
for padding in (0, 2, 18):
    pad = [0] * padding
    words.append(f"padding of {padding} {distance([7, 8, *pad], [7, 9, *pad], True):.2f},")
print(f"keras_hub {keras_hub.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: without 5 1, without 0 0, padding of 0 0.50, padding of 2 0.25, padding of 18 0.05,"
