#!/usr/bin/env bash
# The Transformer of DeepCTR pools padding: with its default mean a sequence of three items has the vectors of six.
#
# Guess before the run: `Transformer(...)` of DeepCTR, which is given the lengths of its sequences, pools their items
# alone, as its `SequencePoolingLayer` does: what stands behind the end of a sequence changes nothing.
# Seen: deepctr 0.9.4. Padding is no key of the attention, but its rows get a feed-forward and their own residual, and
# the "mean", the default, and the "sum" are of all rows: other vectors behind the end move the output by 7.0 and 42.1.
# With `output_type=None` the rows of the items are right. A sequence of one item is wrong there, too: an item does not
# see itself by default (`blinding`), and as no key is left it takes the mean of all of them, padding included. So a
# user's vector depends on `maxlen` and on what the embedding has learned for 0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    deepctr==0.9.4
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The layers of sequences alone, without the models that the whole package imports.
root = importlib.util.find_spec("deepctr").submodule_search_locations[0]
for name, path in (("deepctr", root), ("deepctr.layers", f"{root}/layers")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]

import numpy as np
from deepctr.layers.sequence import SequencePoolingLayer, Transformer

items = np.random.default_rng(0).normal(size=(1, 6, 8)).astype("float32")


def moved(layer, length, inputs=2):
    """The largest difference that other vectors behind the end of a sequence make to what a layer says of it."""
    outputs = []
    for padding in (0.0, 9.0):
        x = np.concatenate([items[:, :length], np.full_like(items[:, length:], padding)], axis=1)
        output = layer([x] * inputs + [np.array([[length]], "int32")] * inputs).numpy()
        outputs.append(output[:, :length])
    return np.abs(outputs[0] - outputs[1]).max()


parts = [f"SequencePoolingLayer {moved(SequencePoolingLayer('mean'), 3, 1):.1f}"]
for kind in ("mean", "sum", None):
    layers = [Transformer(att_embedding_size=4, head_num=2, output_type=kind, seed=1) for _ in range(2)]
    parts.append(f"{kind} {moved(layers[0], 3):.1f}, of one item {moved(layers[1], 1):.1f}")
print(f"deepctr {importlib.metadata.version('deepctr')}, moved by padding: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "deepctr 0.9.4, moved by padding: SequencePoolingLayer 0.0; mean 7.0, of one item 17.8; sum 42.1, of\
 one item 93.5; None 0.0, of one item 41.8"
