#!/usr/bin/env bash
# P@1 of tensorflow-similarity is 0.00 and recall@1 1.00 for the same neighbours, if the text itself is left out.
#
# Guess before the run: with drop_closest_lookup=True, "used when the query set == indexed set", the metrics at k are
# those of the k neighbours after the text itself, and at 1 the precision is the recall, "any lookup in top k".
# Seen: tensorflow-similarity 0.17.1, tensorflow 2.20.0. Precision and MAP take the neighbours up to the place k, the
# text itself among them, so that one is missing: P@1 is that of none, and P@3, 1.00, that of two, where the third is
# wrong. Recall and nDCG take k. `distance_threshold`, the distance below which "a nearest neighbor is considered a
# valid match", is read by nDCG alone.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-similarity==0.17.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The metrics alone, without the plots and indices that the whole package imports.
package = types.ModuleType("tensorflow_similarity")
package.__path__ = list(importlib.util.find_spec("tensorflow_similarity").submodule_search_locations)
sys.modules[package.__name__] = package

import tensorflow as tf
from tensorflow_similarity.retrieval_metrics import BNDCG, MapAtK, PrecisionAtK, RecallAtK

labels = tf.constant([1, 1])
# Each text finds itself, two of its class, one of another class.
neighbours = {
    "query_labels": labels,
    "match_mask": tf.constant([[True, True, True, False]] * 2),
    "lookup_distances": tf.constant([[0.0, 0.1, 0.5, 0.6]] * 2),
}
metrics = {"P": PrecisionAtK, "MAP": lambda **some: MapAtK(r={1: 3}, **some), "recall": RecallAtK, "nDCG": BNDCG}
parts = []
for k in (1, 2, 3):
    values = [make(k=k, drop_closest_lookup=True).compute(**neighbours) for make in metrics.values()]
    parts.append(" ".join([f"at {k}", *(f"{name} {value:.2f}" for name, value in zip(metrics, values, strict=True))]))
near = float(PrecisionAtK(k=3, distance_threshold=0.2).compute(**neighbours))
print(
    f"tensorflow-similarity {importlib.metadata.version('tensorflow-similarity')}: {', '.join(parts)};",
    f"two of three nearer than 0.2: P@3 {near:.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-similarity 0.17.1: at 1 P 0.00 MAP 0.00 recall 1.00 nDCG 1.00, at 2 P 1.00 MAP 0.50 recall\
 1.00 nDCG 1.00, at 3 P 1.00 MAP 1.00 recall 1.00 nDCG 1.00; two of three nearer than 0.2: P@3 1.00"
