#!/usr/bin/env bash
# A frozen Keras layer in `SpectralNormalization` has other weights after `fit`, and the model other outputs.
#
# Guess before the run: `trainable = False` keeps the weights of a spectrally normalized layer, as it does of every other
# one; a frozen BatchNormalization keeps its moving means as well.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, and alike on JAX 0.10.2. The kernel of a frozen Dense has the norm .18
# before `fit` and 1.00 afterwards; the optimizer's rate is 0, and the frozen BatchNormalization beside it is unchanged.
# The wrapper doesn't divide by the norm where it computes, but writes the divided kernel over the layer's in each
# training step, whether it may be trained or not. A pre-trained part that is frozen behind it is not what was trained.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

keras.utils.set_random_seed(0)
inputs = np.random.default_rng(0).normal(3.0, size=(32, 8)).astype("float32")
dense = keras.layers.Dense(8, kernel_initializer=keras.initializers.Orthogonal(0.18))
frozen = [keras.layers.BatchNormalization(), keras.layers.SpectralNormalization(dense)]
model = keras.Sequential([keras.Input((8,)), *frozen, keras.layers.Dense(1)])
for layer in frozen:
    layer.trainable = False
model.compile(keras.optimizers.SGD(0.0), "mse")
words = [f"keras {keras.__version__}:"]
for name in ("before", "after"):
    if name == "after":
        model.fit(inputs, np.zeros((32, 1)), batch_size=8, verbose=0)
    mean = np.max(np.abs(frozen[0].moving_mean.numpy()))
    words.append(f"{name} mean {mean:.2f}, norm {np.linalg.norm(dense.kernel.numpy(), 2):.2f};")
print(*words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: before mean 0.00, norm 0.18; after mean 0.00, norm 1.00;"
