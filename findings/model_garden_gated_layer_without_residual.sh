#!/usr/bin/env bash
# GatedFeedforward of the TensorFlow Model Garden adds no residual without its LayerNorm, and is saved with one.
#
# Guess before the run: with weights of 0 the block returns its input, normalized, and with
# `apply_output_layer_norm=False` the input as it is; a block that is made again of its configuration has the same
# outputs.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The input is added only where the normalization is: without it
# the outputs are 0, and the blocks of `num_blocks=2` are a chain in which nothing goes around. `get_config` leaves
# `apply_output_layer_norm` out, so that the block that is made again has a LayerNorm, with weights of its own, and
# adds the input.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 tf_keras==2.20.1 numpy==2.4.6 gin-config==0.5.0 pyyaml==6.0.3 scipy==1.17.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tf-models-official==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tf_keras
from official.nlp.modeling import layers

states = np.random.default_rng(0).normal(size=(1, 4, 8)).astype("float32")
states -= states.mean(-1, keepdims=True)
states /= states.std(-1, keepdims=True)  # a LayerNorm changes nothing


def describe(**settings):
    block = layers.GatedFeedforward(inner_dim=16, kernel_initializer="zeros", **settings)
    again = layers.GatedFeedforward.from_config(block.get_config())
    outputs = [one(states).numpy() for one in (block, again)]
    kinds = ["the input" if np.allclose(one, states, atol=1e-4) else "0" if not one.any() else "?" for one in outputs]
    return f"{kinds[0]}, made again {kinds[1]}, weights {len(block.weights)} and {len(again.weights)}"


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"outputs of weights of 0: {describe()}; without LayerNorm: {describe(apply_output_layer_norm=False)};",
    f"two of those: {describe(apply_output_layer_norm=False, num_blocks=2)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, outputs of weights of 0: the input, made again the input,\
 weights 8 and 8; without LayerNorm: 0, made again the input, weights 6 and 8; two of those: 0, made\
 again the input, weights 12 and 16"
