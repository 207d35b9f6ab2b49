#!/usr/bin/env bash
# SpectralNormalization of the TensorFlow Model Garden gives no layer its weights back: a forward pass shrinks them.
#
# Guess before the run: the layer is called with a kernel whose greatest singular value is bounded by
# `norm_multiplier`, and then `restore_weights` "restores layer weights to maintain gradient update": after a call the
# kernel has the singular values 5, 2, .5 and .1 that it had.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The kernel to be restored is the variable itself, which has
# been overwritten: after one call with training=True, without an optimizer, its singular values are .95, .38, .09 and
# .02 for good. A call with training=False doesn't normalize, so that a pooler of SNGP
# (GaussianProcessClassificationHead) is used as the last step left it.
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
import tensorflow as tf
import tf_keras
from official.nlp.modeling import layers

tf.random.set_seed(0)


def singular_values(calls, **options):
    dense = tf_keras.layers.Dense(4, use_bias=False)
    layer = layers.SpectralNormalization(dense, iteration=20, norm_multiplier=0.95)
    layer.build((None, 4))
    dense.kernel.assign(np.diag([5.0, 2.0, 0.5, 0.1]))
    for _ in range(calls):
        layer(np.eye(4, dtype="float32"), **options)
    return " ".join(f"{value:.2f}" for value in np.linalg.svd(dense.kernel, compute_uv=False))


print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"singular values of a kernel: {singular_values(0)}, after a call in training",
    f"{singular_values(1, training=True)}, in evaluation {singular_values(1, training=False)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, singular values of a kernel: 5.00 2.00 0.50 0.10, after a\
 call in training 0.95 0.38 0.09 0.02, in evaluation 5.00 2.00 0.50 0.10"
