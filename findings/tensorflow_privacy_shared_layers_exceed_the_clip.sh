#!/usr/bin/env bash
# If both sentences of a pair share an encoder, fast clipping of TensorFlow Privacy leaves gradients longer than the clip.
#
# Guess before the run: DPModel with a registry clips the gradient of each pair of sentences at `l2_norm_clip`, also
# where one encoder reads both sentences, as in a sentence-BERT; a layer that it could not measure it refuses.
# Seen: tensorflow-privacy 0.9.0 with TensorFlow 2.15.1. The gradients of two calls of one layer are measured apart
# and their squares added, so that what they have in common is left out. For equal sentences a clip of 1 lets a pair
# move the model by up to 1.28, and four sentences by up to 1.56; the layer and its pair of calls are accepted
# without a word. Two encoders, and no registry, keep to 1.00. Noise and accountant go on assuming 1.
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
texts, labels = rng.normal(size=(32, 1, 32)).astype("float32"), np.full((32, 1, 1), 50.0, "float32")


def longest(sentences, shared, fast):
    """The most that one example moves a model, with a rate of 1 and no noise."""
    tf.keras.utils.set_random_seed(0)
    vectors = [tf.keras.Input((32,)) for _ in range(sentences)]
    encoders = [tf.keras.layers.Dense(32, "tanh") for _ in vectors]
    hidden = [encoders[0 if shared else i](vector) for i, vector in enumerate(vectors)]
    registry = layer_registry.make_default_layer_registry() if fast else None
    model = tensorflow_privacy.DPModel(
        l2_norm_clip=1.0,
        noise_multiplier=0.0,
        use_xla=False,
        layer_registry=registry,
        inputs=vectors,
        outputs=tf.keras.layers.Dense(1)(tf.keras.layers.Add()(hidden)),
    )
    model.compile(tf.keras.optimizers.SGD(1.0), tf.keras.losses.MeanSquaredError())
    weights, lengths = model.get_weights(), []
    for text, label in zip(texts, labels):
        model.set_weights(weights)
        model.train_on_batch([text] * sentences, label)
        changes = [np.square(new - old).sum() for new, old in zip(model.get_weights(), weights)]
        lengths.append(np.sqrt(sum(changes)))
    return f"{max(lengths):.2f}"


print(
    f"tensorflow-privacy {importlib.metadata.version('tensorflow-privacy')}, tensorflow {tf.__version__},",
    "greatest length of a clip of 1 for 1, 2, 4 sentences:",
    f"shared and fast {', '.join(longest(n, True, True) for n in (1, 2, 4))},",
    f"shared {', '.join(longest(n, True, False) for n in (1, 2, 4))},",
    f"fast {', '.join(longest(n, False, True) for n in (1, 2, 4))}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-privacy 0.9.0, tensorflow 2.15.1, greatest length of a clip of 1 for 1, 2, 4 sentences:\
 shared and fast 1.00, 1.28, 1.56, shared 1.00, 1.00, 1.00, fast 1.00, 1.00, 1.00"
