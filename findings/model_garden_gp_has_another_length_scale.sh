#!/usr/bin/env bash
# The Gaussian process of the TensorFlow Model Garden has twice its scale, and with normalized inputs always the same.
#
# Guess before the run: RandomFeatureGaussianProcess has the kernel exp(-|x - y|² / gp_kernel_scale), as it says, and
# the head of SNGP for a BERT, which is made of it, the same random features of variance 1.
# Seen: tf-models-official 2.20.0 with tf_keras 2.20.1. The scale s for which exp(-|x - y|² / s) fits best is about 2
# for a scale of 1 and 15 for 8: it is exp(-|x - y|² / (2 s)). With `normalize_input=True`, which is the default of
# GaussianProcessClassificationHead, the option is not read: 1 and 8 have equal features. That head also draws its
# features with a standard deviation of .05 where the layer has 1, so that all texts are near each other (a length 20
# times as great).
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

states = np.random.default_rng(0).normal(scale=0.3, size=(64, 16)).astype("float32")
distances = ((states[:, None] - states[None]) ** 2).sum(-1)
scales = np.arange(0.1, 30, 0.1)


def features(scale, **settings):
    tf_keras.utils.set_random_seed(0)
    layer = layers.RandomFeatureGaussianProcess(
        2, num_inducing=8192, return_gp_cov=False, return_random_features=True, gp_kernel_scale=scale, **settings
    )
    return layer(states)[-1].numpy()


def fitted(scale):
    """The s for which exp(-distance / s) is nearest to the products of the features."""
    products = features(scale) @ features(scale).T
    return scales[np.argmin([np.abs(np.exp(-distances / one) - products).mean() for one in scales])]


head = layers.GaussianProcessClassificationHead(inner_dim=0, num_classes=2)
head(states)
near = all(abs(fitted(scale) / (2 * scale) - 1) < 0.06 for scale in (1.0, 2.0, 8.0))
same = np.array_equal(features(1.0, normalize_input=True), features(8.0, normalize_input=True))
print(
    f"tf-models-official {importlib.metadata.version('tf-models-official')}, tf_keras {tf_keras.__version__},",
    f"fitted scales of 1, 2, 8 are twice as great: {near}; with normalized inputs 1 and 8 have equal features: {same};",
    f"standard deviation in the head {head.out_proj._random_feature.kernel.numpy().std():.2f}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tf-models-official 2.20.0, tf_keras 2.20.1, fitted scales of 1, 2, 8 are twice as great: True; with\
 normalized inputs 1 and 8 have equal features: True; standard deviation in the head 0.05"
