#!/usr/bin/env bash
# TransformerEncoderBlock of the TensorFlow Model Garden ignores `kernel_regularizer`, and half of `use_rms_norm`.
#
# Guess before the run: an L2 regularizer of kernels adds a loss for each of the six kernels of a block, as in the two
# blocks beside it, and `use_rms_norm` makes both normalizations RMSNorm, also in a block that is made again of its
# configuration.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The regularizer reaches no kernel: TransformerScaffold and
# ReZeroTransformer have six losses, TransformerEncoderBlock, which BertEncoderV2 consists of, has none. The second
# normalization is a LayerNorm in any case, with its bias, and the configuration leaves `use_rms_norm` out, so that a
# copy has two LayerNorms.
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
settings = {"num_attention_heads": 2, "inner_dim": 16, "inner_activation": "gelu"}


def losses(kind):
    layer = kind(kernel_regularizer=tf_keras.regularizers.l2(0.01), **settings)
    layer(states)
    return f"{kind.__name__} {len(layer.losses)}"


def norms(layer):
    layer(states)
    return " ".join(weight.name.split("/")[-1] for weight in layer.weights if "norm" in weight.name).replace(":0", "")


kinds = (layers.TransformerEncoderBlock, layers.TransformerScaffold, layers.ReZeroTransformer)
block = layers.TransformerEncoderBlock(use_rms_norm=True, **settings)
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"losses of kernel_regularizer: {', '.join(map(losses, kinds))};",
    f"weights of norms with use_rms_norm: {norms(block)},",
    f"made again: {norms(layers.TransformerEncoderBlock.from_config(block.get_config()))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, losses of kernel_regularizer: TransformerEncoderBlock 0,\
 TransformerScaffold 6, ReZeroTransformer 6; weights of norms with use_rms_norm: scale gamma beta, made\
 again: gamma beta gamma beta"
