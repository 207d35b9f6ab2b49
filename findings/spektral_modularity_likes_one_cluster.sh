#!/usr/bin/env bash
# Of three groups of a graph and all of it as one spektral's DMoN takes the one: a modularity of 0 is the better loss.
#
# Guess before the run: the modularity loss of DMoNPool is minus the modularity, which is .45 for three groups of four
# nodes with five edges between them, and 0 for one cluster that holds all; the loss of the three groups is the lower
# one.
# Seen: spektral 1.3.1, TensorFlow 2.15.1, networkx 3.4.2. With plain edges the losses are -.31 and -.25. With the
# symmetrically normalized matrix, which the page asks for, they are -.10 and -.11, so that training moves to the one.
# `n_edges` is the number of entries that aren't 0: that is twice the edges, so that what a random graph has counts
# half, and where edges have weights it is not their sum.
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

import networkx as nx
import numpy as np
import tensorflow as tf
from spektral.layers import DMoNPool

GROUPS = (range(4), range(4, 8), range(8, 12))
graph = nx.Graph()
for group in GROUPS:
    graph.add_edges_from((one, other) for one in group for other in group if one < other)
graph.add_edges_from([(3, 4), (7, 8), (2, 5), (6, 9), (1, 6)])
plain = nx.to_numpy_array(graph, nodelist=range(12)).astype("float32")
degrees = plain.sum(1)
layer = DMoNPool(3)
parts = []
for name, edges in (("plain", plain), ("normalized", plain / np.sqrt(np.outer(degrees, degrees)))):
    for clusters in (GROUPS, (range(12),)):
        chosen = np.zeros((12, 3), "float32")
        for number, cluster in enumerate(clusters):
            chosen[list(cluster), number] = 1
        loss = layer.modularity_loss(*map(tf.constant, (edges, chosen, chosen.T @ edges @ chosen)))
        right = nx.community.modularity(nx.from_numpy_array(edges), clusters)
        parts.append(f"{name}, {len(clusters)} clusters {loss:.2f} ({abs(right):.2f})")
print(f"spektral {importlib.metadata.version('spektral')}, loss (and modularity): {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spektral 1.3.1, loss (and modularity): plain, 3 clusters -0.31 (0.45); plain, 1 clusters -0.25 (0.00);\
 normalized, 3 clusters -0.10 (0.47); normalized, 1 clusters -0.11 (0.00)"
