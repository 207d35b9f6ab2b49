#!/usr/bin/env bash
# The "signs" of edward2's DenseFlipout are numbers from -1 to 3: the uncertainty of its outputs is 2.3 times as large.
#
# Guess before the run: a Bayesian head by Flipout has outputs of the same mean and variance as one by
# reparameterization: each example flips signs of the noise, 1 or -1, which changes no distribution.
# Seen: edward2 0.0.2 with TensorFlow 2.15.1. The signs of inputs are drawn as integers, those of outputs in the type
# of the inputs, so that 2u - 1 is any number between -1 and 3. Their square is 7 / 3 in the mean: with kernels of a
# standard deviation of .1 and vectors of length 4 the outputs have a variance of .38 instead of .16, and are no
# longer normal (kurtosis 6.6), where DenseReparameterization has .16. In training too, the noise is not that of the
# posterior whose divergence is paid for.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 scipy==1.10.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    edward2==0.0.2 tensorflow-probability==0.23.0 dm-tree==0.1.10 cloudpickle==3.1.3 decorator==5.3.1 \
    attrs==26.1.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import edward2 as ed
import numpy as np
import tensorflow as tf


def moments(name):
    """Mean, variance and kurtosis of the outputs for a vector of length 4; of a normal distribution 0, .16, 3."""
    tf.keras.utils.set_random_seed(0)
    kernel = ed.initializers.TrainableNormal(
        mean_initializer=tf.keras.initializers.Zeros(),
        stddev_initializer=tf.keras.initializers.Constant(np.log(np.expm1(0.1))),
    )
    layer = getattr(ed.layers, name)(64, use_bias=False, kernel_initializer=kernel, kernel_regularizer=None)
    outputs = np.concatenate([layer(tf.ones((1, 16))).numpy().ravel() for _ in range(1000)])
    centred = outputs - outputs.mean()
    return f"{outputs.mean():.2f} {centred.var():.2f} {(centred**4).mean() / centred.var() ** 2:.1f}"


print(
    f"edward2 {importlib.metadata.version('edward2')}, tensorflow {tf.__version__}, mean, variance, kurtosis:",
    ", ".join(f"{name} {moments(name)}" for name in ("DenseReparameterization", "DenseFlipout")),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "edward2 0.0.2, tensorflow 2.15.1, mean, variance, kurtosis: DenseReparameterization -0.00 0.16 3.0,\
 DenseFlipout -0.00 0.38 6.6"
