#!/usr/bin/env bash
# The gap between classes in tensorflow-similarity has no sign: classes that lie in each other have the same as apart.
#
# Guess before the run: `dist_gap` (`DistanceGapMetric`) says how much nearer texts of one class are than those of
# others: positive where classes are apart, negative where they lie in each other.
# Seen: tensorflow-similarity 0.17.1. Of classes whose nearest strangers are 3 away and whose farthest members are 1
# apart it is 2.00; of classes where strangers are 1 and members 3 apart it is 2.00 as well: it takes the absolute
# value. So a training that pulls classes through each other falls to 0 and rises again, and a checkpoint by the largest
# gap may be the worst model.
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

# The metric alone, without the plots and indices that the whole package imports.
package = types.ModuleType("tensorflow_similarity")
package.__path__ = list(importlib.util.find_spec("tensorflow_similarity").submodule_search_locations)
sys.modules[package.__name__] = package
metrics = types.ModuleType("tensorflow_similarity.training_metrics")
metrics.__path__ = [f"{package.__path__[0]}/training_metrics"]
sys.modules[metrics.__name__] = metrics

import tensorflow as tf
from tensorflow_similarity.training_metrics.distance_metrics import DistanceGapMetric

labels = tf.constant([0, 0, 1, 1])
parts = []
for members, strangers in ((1.0, 3.0), (2.0, 2.5), (2.5, 2.0), (3.0, 1.0)):
    vectors = tf.constant([[0.0, 0.0], [0.0, members], [strangers, 0.0], [strangers, members]])
    metric = DistanceGapMetric("l2")
    metric.update_state(labels, vectors, None)
    parts.append(f"members {members:g} strangers {strangers:g} {metric.result().numpy():.2f}")
print(f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}, gap: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1, gap: members 1 strangers 3 2.00; members 2 strangers 2.5 0.50; members\
 2.5 strangers 2 0.50; members 3 strangers 1 2.00"
