#!/usr/bin/env bash
# tensorflow-similarity rejects a text of a class that is near because a neighbour of another class is far away.
#
# Guess before the run: MatchMajorityVote derives the label most neighbours have, and "the distance associated with the
# jth derived label", of the neighbours with this label; a text is recognized if it is below the threshold.
# Seen: tensorflow-similarity 0.17.1. The distance is the mean over all neighbours. A text whose class is at .10 and .12
# has .11 with these two, and .37 if a third neighbour of another class, at .90, is looked at: with a threshold of .3 it
# is not recognized any more, although nothing nearer has come. The further a stranger is, the surer the class should
# be, and the more likely it is rejected: three texts at .10 and two strangers at .90 make .42.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-similarity==0.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The matchers alone, without the plots and indices that the whole package imports.
package = types.ModuleType("tensorflow_similarity")
package.__path__ = list(importlib.util.find_spec("tensorflow_similarity").submodule_search_locations)
sys.modules[package.__name__] = package

import tensorflow as tf
from tensorflow_similarity.matchers import MatchMajorityVote

matcher = MatchMajorityVote()
matcher.compile(tf.constant([0.3]))
parts = []
for labels, distances in (
    ([1, 1], [0.1, 0.12]),
    ([1, 1, 2], [0.1, 0.12, 0.4]),
    ([1, 1, 2], [0.1, 0.12, 0.9]),
    ([1, 1, 1, 2, 3], [0.1, 0.1, 0.1, 0.9, 0.9]),
):
    rows = tf.constant([labels]), tf.constant([distances])
    label, distance = (float(value[0, 0]) for value in matcher.derive_match(*rows))
    matcher.compute_count(tf.constant([1]), *rows)
    found = "recognized" if float(matcher.tp[0]) else "not recognized"
    parts.append(f"{labels} at {distances}: class {label:.0f} at {distance:.2f}, {found}")
print(f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}, threshold .3: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1, threshold .3: [1, 1] at [0.1, 0.12]: class 1 at 0.11, recognized; [1, 1,\
 2] at [0.1, 0.12, 0.4]: class 1 at 0.21, recognized; [1, 1, 2] at [0.1, 0.12, 0.9]: class 1 at 0.37, not recognized;\
 [1, 1, 1, 2, 3] at [0.1, 0.1, 0.1, 0.9, 0.9]: class 1 at 0.42, not recognized"
