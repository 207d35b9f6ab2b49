#!/usr/bin/env bash
# GATConv, DiffPool and TopKPool of spektral are other layers after a save and a load: options are not in their config.
#
# Guess before the run: a model that is saved and loaded gives what it gave: its weights and the arguments of its layers
# are in the file.
# Seen: spektral 1.3.1, TensorFlow 2.15.1. The weights are the same and the output is another one:
# GATConv(add_self_loops=False) has self-loops again, DiffPool(activation="relu") has no activation,
# TopKPool(sigmoid_gating=True), and SAGPool, scale by tanh. `get_config` of these layers lacks the argument, and the
# default is taken, without a word. GCNConv(activation="relu") is as it was.
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
import os
import tempfile

import numpy as np
import tensorflow as tf
from spektral.layers import DiffPool, GATConv, GCNConv, TopKPool

tf.keras.utils.set_random_seed(0)
generator = np.random.default_rng(0)
features = tf.constant(generator.normal(size=(6, 4)), tf.float32)
edges = np.triu(generator.random((6, 6)) < 0.5, 1).astype("float32")
edges = tf.sparse.from_dense(edges + edges.T)
folder = tempfile.mkdtemp()
parts = []
for layer in (
    GCNConv(3, activation="relu"),
    GATConv(3, add_self_loops=False),
    DiffPool(2, activation="relu"),
    TopKPool(0.5, sigmoid_gating=True),
):
    inputs = [tf.keras.Input((4,)), tf.keras.Input((6,), sparse=True)]
    outputs = layer(inputs)
    outputs = outputs[0] if isinstance(outputs, list) else outputs
    model = tf.keras.Model(inputs, outputs)
    path = os.path.join(folder, "model.h5")
    model.save(path)
    loaded = tf.keras.models.load_model(path, custom_objects={type(layer).__name__: type(layer)}, compile=False)
    same = all(map(np.array_equal, model.get_weights(), loaded.get_weights()))
    difference = np.abs(model([features, edges]) - loaded([features, edges])).max()
    parts.append(f"{type(layer).__name__} {'same' if same else 'other'} weights, {difference:.2f}")
version = importlib.metadata.version("spektral")
print(f"spektral {version}, largest difference of outputs after loading: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "spektral 1.3.1, largest difference of outputs after loading: GCNConv same weights, 0.00; GATConv same \
weights, 0.82; DiffPool same weights, 2.69; TopKPool same weights, 1.84"
