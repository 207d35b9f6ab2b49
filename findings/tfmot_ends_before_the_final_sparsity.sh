#!/usr/bin/env bash
# After 78 steps, an epoch of RTE, TensorFlow Model Optimization has pruned nothing, though `final_sparsity` is .8.
#
# Guess before the run: `PolynomialDecay(initial_sparsity=.5, final_sparsity=.8, begin_step=0, end_step=78)`, with
# the number of steps of the training as its guide computes it, ends with a sparsity of .8.
# Seen: tensorflow-model-optimization 0.8.0 with TensorFlow 2.15.1. Weights are pruned at the steps that 100, the
# default frequency, divides. Step 0 is over before the first one is counted, and nothing prunes at `end_step`: 78
# steps leave all weights, not even the initial sparsity .5 is there, 156 steps, two epochs, make .786, and 234 .799.
# With `frequency=1` it is .80 in all cases.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tf_keras==2.15.1 tensorflow-model-optimization==0.8.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot

sparsity = tfmot.sparsity.keras


def zeros(epochs, **options):
    """The share of the kernel's weights that are 0 after some epochs of 2,490 texts, 32 in a batch."""
    end = int(np.ceil(2490 / 32)) * epochs
    schedule = sparsity.PolynomialDecay(0.5, 0.8, begin_step=0, end_step=end, **options)
    tf.keras.utils.set_random_seed(0)
    layers = [tf.keras.Input((16,)), tf.keras.layers.Dense(100, "tanh"), tf.keras.layers.Dense(1)]
    model = sparsity.prune_low_magnitude(tf.keras.Sequential(layers), pruning_schedule=schedule)
    model.compile("adam", "mse")
    texts = np.random.default_rng(0).normal(size=(2490, 16)).astype("float32")
    model.fit(texts, texts[:, :1], 32, epochs, verbose=0, callbacks=[sparsity.UpdatePruningStep()])
    kernel = sparsity.strip_pruning(model).layers[0].kernel.numpy()
    return f"{(kernel == 0).mean():.3f}"


print(
    f"tensorflow-model-optimization {importlib.metadata.version('tensorflow-model-optimization')},",
    f"tensorflow {tf.__version__}, share of zeros after 1, 2, 3 epochs:",
    " ".join(zeros(epochs) for epochs in (1, 2, 3)) + ",",
    f"by frequency=1: {' '.join(zeros(epochs, frequency=1) for epochs in (1, 2, 3))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-optimization 0.8.0, tensorflow 2.15.1, share of zeros after 1, 2, 3 epochs: 0.000\
 0.786 0.799, by frequency=1: 0.800 0.800 0.800"
