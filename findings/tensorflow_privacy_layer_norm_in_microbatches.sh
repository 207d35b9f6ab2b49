#!/usr/bin/env bash
# TensorFlow Privacy finds a LayerNorm's gradients too short in microbatches: it counts scale and shift for the halves.
#
# Guess before the run: `compute_gradient_norms(..., num_microbatches=2)` with the registry function for
# LayerNormalization has the lengths of the gradients of the two halves' mean losses, as it has without a LayerNorm.
# Seen: tensorflow-privacy 0.9.0 with TensorFlow 2.15.1. With microbatches the function divides the pair of scale and
# shift instead of the batch: the squares of the scale's gradients of all examples are the first half, those of the
# shift the second, and each example counts alone, though it says that gradients of a microbatch are those of its
# mean. Of 32 examples the two halves are found to be 200 and 200 long, and are 589 and 583, so that what is clipped
# at 1 is 3 long. Of a Dense, and of single examples, the lengths are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 scipy==1.17.1 attrs==26.1.0 dm-tree==0.1.10 scikit-learn==1.9.1 \
    pandas==3.0.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    tensorflow-privacy==0.9.0 dp-accounting==0.4.3 mpmath==1.4.1 tensorflow-probability==0.22.1 \
    cloudpickle==3.1.3 decorator==5.3.1 immutabledict==4.3.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from tensorflow_privacy.privacy.fast_gradient_clipping import clip_grads, layer_registry
from tensorflow_privacy.privacy.fast_gradient_clipping.registry_functions import layer_normalization

registry = layer_registry.make_default_layer_registry()
registry.insert(tf.keras.layers.LayerNormalization, layer_normalization.layer_normalization_computation)
rng = np.random.default_rng(0)
texts, labels = rng.normal(size=(32, 32)).astype("float32"), np.full((32, 1), 50.0, "float32")


def norms(layer, halves):
    """The lengths as the package has them, and by the definition."""
    tf.keras.utils.set_random_seed(0)
    vector = tf.keras.Input((32,))
    total = tf.keras.layers.Lambda(lambda x: tf.reduce_sum(x, -1, keepdims=True))
    model = tf.keras.Model(vector, total(layer(vector)))
    model.compile("sgd", tf.keras.losses.MeanSquaredError())
    seen = clip_grads.compute_gradient_norms(model, registry, texts, labels, num_microbatches=halves).numpy()
    right = []
    for rows in np.split(np.arange(32), halves or 32):
        with tf.GradientTape() as tape:
            loss = model.loss(labels[rows], model(texts[rows]))
        right.append(float(tf.linalg.global_norm(tape.gradient(loss, model.trainable_variables))))
    return f"{' '.join(f'{value:.0f}' for value in seen[:2])} for {' '.join(f'{value:.0f}' for value in right[:2])}"


print(
    f"tensorflow-privacy {importlib.metadata.version('tensorflow-privacy')}, tensorflow {tf.__version__},",
    f"lengths of two halves: Dense {norms(tf.keras.layers.Dense(8), 2)},",
    f"LayerNorm {norms(tf.keras.layers.LayerNormalization(), 2)};",
    f"of two single examples: LayerNorm {norms(tf.keras.layers.LayerNormalization(), None)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-privacy 0.9.0, tensorflow 2.15.1, lengths of two halves: Dense 560 477 for 560 477,\
 LayerNorm 200 200 for 589 583; of two single examples: LayerNorm 800 800 for 800 800"
