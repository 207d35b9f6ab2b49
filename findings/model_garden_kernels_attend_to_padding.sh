#!/usr/bin/env bash
# KernelAttention of the TensorFlow Model Garden reads padding with `is_short_seq` and `begin_kernel`.
#
# Guess before the run: `attention_mask` "prevents attenting to masked positions" in all forms of the layer: six words
# have the same outputs alone and before two words of padding, whatever vectors these have.
# Seen: tf-models-official 2.20.0 with TensorFlow 2.20.0. With kernels alone it is so to a hundredth. For short
# sequences and for the first `begin_kernel` words the masked keys are made 0 and then a softmax is taken, in which a
# score of 0 has the weight of any other: outputs are off by about three quarters of their size, and by more than that
# if padding has other vectors. `begin_kernel`, "apply softmax attention before this", also projects by random features
# there, so that it is no exact softmax.
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

states = np.random.default_rng(0).normal(size=(1, 8, 32)).astype("float32")
mask = np.array([[1.0] * 6 + [0.0] * 2], "float32")


def differences(**settings):
    """How far six words are off because of two words of padding, and because padding has another vector."""
    tf_keras.utils.set_random_seed(0)
    layer = layers.KernelAttention(num_heads=4, key_dim=8, **settings)
    alone = layer(states[:, :6], states[:, :6], attention_mask=mask[:, :6])
    padded = layer(states, states, attention_mask=mask)[:, :6]
    others = np.concatenate([states[:, :6], -states[:, 6:]], axis=1)
    changed = layer(others, others, attention_mask=mask)[:, :6]
    size = np.abs(alone).mean()
    shares = (np.abs(one).mean() / size for one in (padded - alone, changed - padded))
    return " ".join("under .01" if share < 0.01 else "over .1" if share > 0.1 else f"{share:.2f}" for share in shares)


kinds = {"kernels": {}, "is_short_seq": {"is_short_seq": True}, "begin_kernel=2": {"begin_kernel": 2}}
seen = [f"{name} {differences(**kind)}" for name, kind in kinds.items()]
softmax = differences(is_short_seq=True, feature_transform="identity", num_random_features=0)
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"differences by padding, by its vectors: {', '.join(seen)}, exact softmax {softmax}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, differences by padding, by its vectors: kernels under .01\
 under .01, is_short_seq over .1 over .1, begin_kernel=2 over .1 over .1, exact softmax over .1 over .1"
