#!/usr/bin/env bash
# The average of a small graph in spektral depends on the largest graph of its batch: padding counts, also with a mask.
#
# Guess before the run: the average of a graph of two nodes whose features are 1 is 1 in any batch; BatchLoader has a
# mask for the nodes that it adds, and GlobalAvgPool is for batches, too.
# Seen: spektral 1.3.1, TensorFlow 2.15.1. It is 1 next to a graph of two nodes, .4 next to one of five and .1 next to
# one of 20. With BatchLoader(mask=True) and GraphMasking it is the same: GlobalAvgPool says that it supports masks,
# hands them on, and takes the plain mean over all rows. In disjoint mode it is 1. GlobalMaxPool takes the 0 of the
# padding where all features are negative.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    spektral==1.3.1 tensorflow-cpu==2.15.1 numpy==1.26.4 scipy==1.13.1 networkx==3.4.2 pandas==2.2.3 \
    scikit-learn==1.5.2
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from spektral.data import BatchLoader, Dataset, DisjointLoader, Graph
from spektral.layers import GlobalAvgPool, GlobalMaxPool, GraphMasking


class Graphs(Dataset):
    def __init__(self, size, value):
        self.size, self.value = size, value
        super().__init__()

    def read(self):
        sizes = (2, self.size)
        return [Graph(np.full((size, 1), self.value), np.ones((size, size)), y=np.zeros(1)) for size in sizes]


parts = []
for size in (2, 5, 20):
    for masked in (False, True):
        (features, _), _ = next(iter(BatchLoader(Graphs(size, 1.0), batch_size=2, mask=masked, shuffle=False)))
        nodes = GraphMasking()(features) if masked else features
        parts.append(f"{float(GlobalAvgPool()(nodes)[0, 0]):.1f}")
(features, _, number), _ = next(iter(DisjointLoader(Graphs(20, 1.0), batch_size=2, shuffle=False)))
disjoint = float(GlobalAvgPool()([features, number])[0, 0])
(features, _), _ = next(iter(BatchLoader(Graphs(5, -1.0), batch_size=2, shuffle=False)))
most = float(GlobalMaxPool()(features)[0, 0])
print(
    f"spektral {importlib.metadata.version('spektral')}, average of ones next to 2, 5, 20 nodes,",
    f"without and with mask: {' '.join(parts)}; disjoint {disjoint:.1f}; maximum of -1: {most:.1f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spektral 1.3.1, average of ones next to 2, 5, 20 nodes, without and with mask: 1.0 1.0 0.4 0.4 0.1 0.1\
; disjoint 1.0; maximum of -1: 0.0"
