#!/usr/bin/env bash
# In bfloat16 words after the 256th share positions in pairs in the RoFormer of the TensorFlow Model Garden.
#
# Guess before the run: the angles of rotary positions are computed in float32 whatever the policy, as the same package
# does for sines ("numerically unstable in float16"), and rounded afterwards: 512 positions are 512 rotations, and no
# sine is off by more than a hundredth.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The numbers of the positions are already bfloat16, which has no
# odd numbers after 256: of 512 positions 385 differ, one of two in the second half. The products are rounded as well,
# so that sines are those of quite other angles: they are off by up to 1.55, and in float16 by .20. "The word after" is
# not to be told from "this word" in the second half of a text, at the precision that TPUs use by default there.
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
from official.projects.roformer import roformer_attention

exact = np.arange(512)[:, None] * 10_000.0 ** (-np.arange(32) / 32)  # positions, pairs of units


def describe(policy):
    """Positions of 512 that differ from all others, and the largest error of a sine of the last 256 positions."""
    tf_keras.mixed_precision.set_global_policy(policy)
    layer = roformer_attention.RoformerAttention(512, 512, num_heads=2, key_dim=64)
    sines, cosines = (np.asarray(vector[0, :, 0, ::2], "float32") for vector in (layer.k_sin_vec, layer.k_cos_vec))
    different = len(np.unique(np.concatenate([sines, cosines], axis=1), axis=0))
    return f"{policy} {different} {np.abs(sines - np.sin(exact))[256:].max():.2f}"


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"different positions, error: {', '.join(map(describe, ('float32', 'mixed_float16', 'mixed_bfloat16')))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, different positions, error: float32 512 0.00, mixed_float16\
 512 0.20, mixed_bfloat16 385 1.55"
