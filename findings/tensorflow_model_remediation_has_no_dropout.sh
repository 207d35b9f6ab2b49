#!/usr/bin/env bash
# CounterfactualModel of TensorFlow Model Remediation trains a BERT without dropout: its layers run as in inference.
#
# Guess before the run: `fit` of a CounterfactualModel trains the model that it wraps as `fit` of the model itself does,
# "almost exactly the same way": with dropout, and with a BatchNormalization that takes the batch's mean.
# Seen: tensorflow-model-remediation 0.1.7.1 with Keras 2. Keras' own `fit` and that of MinDiffModel call layers with
# training=True, CounterfactualModel with training=None in its three calls. A model whose Dropout(.99) keeps next to
# nothing learns 64 texts by heart there, to a loss of .01; by Keras' `fit` it has .70. The moving mean of a
# BatchNormalization stays 0. So a fair BERT has had another training than the one it is compared with.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6 dill==0.4.0
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-model-remediation==0.1.7.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types

# The losses and models alone, without the tools of the tutorials that the whole package imports.
package = types.ModuleType("tensorflow_model_remediation")
package.__path__ = list(importlib.util.find_spec("tensorflow_model_remediation").submodule_search_locations)
sys.modules[package.__name__] = package

import numpy as np
import tensorflow as tf
from tensorflow_model_remediation import counterfactual, min_diff

random = np.random.default_rng(0)
x = random.normal(1, 1, size=(64, 64)).astype("float32")
y = random.integers(0, 2, (64, 1)).astype("float32")
seen = set()


class Probe(tf.keras.layers.Layer):
    def call(self, inputs, training=None):
        seen.add(str(training))
        return inputs


def data(*arrays):
    return tf.data.Dataset.from_tensor_slices(arrays).batch(32)


parts = []
for kind in ("Keras", "MinDiffModel", "CounterfactualModel"):
    tf.keras.utils.set_random_seed(0)
    norm = tf.keras.layers.BatchNormalization()
    layers = [tf.keras.Input((64,)), norm, Probe(), tf.keras.layers.Dropout(0.99), tf.keras.layers.Dense(1, "sigmoid")]
    base = model = tf.keras.Sequential(layers)
    inputs = data(x, y)
    if kind == "MinDiffModel":
        groups = np.tile([[0.0], [1.0]], (32, 1)).astype("float32")
        loss = min_diff.losses.MMDLoss(enable_summary_histogram=False)
        model = min_diff.keras.MinDiffModel(base, loss, loss_weight=0.0)
        inputs = min_diff.keras.utils.pack_min_diff_data(inputs, min_diff_dataset=data(x, groups))
    elif kind == "CounterfactualModel":
        pairs = data(x, x, np.ones(64, "float32"))
        model = counterfactual.keras.CounterfactualModel(base, "pairwise_mse_loss", loss_weight=0.0)
        inputs = counterfactual.keras.utils.pack_counterfactual_data(inputs, pairs)
    model.compile(tf.keras.optimizers.Adam(0.1), loss="binary_crossentropy")
    seen.clear()
    model.fit(inputs, epochs=60, verbose=0)
    called = " ".join(sorted(seen))
    loss = np.mean(tf.keras.losses.binary_crossentropy(y, base(x, training=False)))
    mean = norm.moving_mean.numpy().mean()
    parts.append(f"{kind} training={called} loss {loss:.2f} moving mean {mean:.1f}")
version = importlib.metadata.version("tensorflow-model-remediation")
print(f"tensorflow-model-remediation {version}: {'; '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-model-remediation 0.1.7.1: Keras training=True loss 0.70 moving mean 0.7; MinDiffModel\
 training=True loss 0.70 moving mean 0.9; CounterfactualModel training=None loss 0.01 moving mean 0.0"
