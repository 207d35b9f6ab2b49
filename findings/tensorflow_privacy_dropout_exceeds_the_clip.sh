#!/usr/bin/env bash
# Fast clipping of TensorFlow Privacy leaves gradients longer than the clip where a model has dropout: it measures without.
#
# Guess before the run: DPModel with a registry for "fast" clipping, `l2_norm_clip=1`, moves a model by at most 1 for
# one example, which is what its guarantee rests on, also with BERT's dropout.
# Seen: tensorflow-privacy 0.9.0 with TensorFlow 2.15.1. The lengths are measured in a pass over the layers that is
# not told to train, so without dropout, and the gradients taken in a second one with it. With a dropout of .1, one
# example in 64 moves the model by up to 1.11, with .5 by up to 1.61, and others by less than 1, though their
# gradients are longer. Without a registry, and without dropout, all moves are 1.00. Noise and accountant go on
# assuming 1.
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
import tensorflow_privacy
from tensorflow_privacy.privacy.fast_gradient_clipping import layer_registry

rng = np.random.default_rng(0)
texts, labels = rng.normal(size=(64, 1, 32)).astype("float32"), np.full((64, 1, 1), 50.0, "float32")


def moves(rate, fast):
    """The least and the most that one example moves a model, with a rate of 1 and no noise."""
    tf.keras.utils.set_random_seed(0)
    vector = tf.keras.Input((32,))
    hidden = tf.keras.layers.Dropout(rate)(tf.keras.layers.Dense(32, "tanh")(vector))
    registry = layer_registry.make_default_layer_registry() if fast else None
    model = tensorflow_privacy.DPModel(
        l2_norm_clip=1.0,
        noise_multiplier=0.0,
        use_xla=False,
        layer_registry=registry,
        inputs=vector,
        outputs=tf.keras.layers.Dense(1)(hidden),
    )
    model.compile(tf.keras.optimizers.SGD(1.0), tf.keras.losses.MeanSquaredError())
    weights, lengths = model.get_weights(), []
    for text, label in zip(texts, labels):
        model.set_weights(weights)
        model.train_on_batch(text, label)
        changes = [np.square(new - old).sum() for new, old in zip(model.get_weights(), weights)]
        lengths.append(np.sqrt(sum(changes)))
    return f"{min(lengths):.2f} {max(lengths):.2f}"


rates = (0.0, 0.1, 0.5)
print(
    f"tensorflow-privacy {importlib.metadata.version('tensorflow-privacy')}, tensorflow {tf.__version__},",
    "least and greatest length of a clip of 1 with a dropout of 0, .1, .5:",
    f"fast {', '.join(moves(rate, True) for rate in rates)}; else {', '.join(moves(rate, False) for rate in rates)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-privacy 0.9.0, tensorflow 2.15.1, least and greatest length of a clip of 1 with a dropout\
 of 0, .1, .5: fast 1.00 1.00, 0.95 1.11, 1.00 1.61; else 1.00 1.00, 1.00 1.00, 1.00 1.00"
