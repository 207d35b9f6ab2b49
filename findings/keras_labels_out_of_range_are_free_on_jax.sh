#!/usr/bin/env bash
# On JAX a label that a Keras model has no class for costs nothing: with labels 1 to 3 the loss is 0.0 all the same.
#
# Guess before the run: labels 1 to 3 for three classes, as files of ratings have them, are refused by
# SparseCategoricalCrossentropy, as on TensorFlow and PyTorch, or cost more than any right label.
# Seen: keras 3.15.1 on JAX 0.10.2. A label above the last class, or -1, has a one-hot vector of zeros and so a loss of
# 0.00, where one of three equal classes costs 1.10. A model trains to a loss of 0.0 with labels 0 to 2, 1 to 3 and -1
# to 1, and is right for 100, 60 and 70 of 100 texts. On TensorFlow and PyTorch the same labels are an error. The loss
# shows nothing of it, also where padding is -1 and `ignore_class` is forgotten.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
centres = rng.normal(size=(3, 8)) * 2
labels = rng.integers(0, 3, 300)
vectors = (centres[labels] + rng.normal(size=(300, 8))).astype("float32")
parts = []
for name, numbers in (("0 to 2", labels), ("1 to 3", labels + 1), ("-1 to 1", labels - 1)):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.05), loss)
    losses = model.fit(vectors, numbers, epochs=20, verbose=0).history["loss"]
    accuracy = np.mean(np.argmax(model.predict(vectors, verbose=0), axis=1) == numbers)
    parts.append(f"labels {name}: loss {losses[-1]:.1f}, accuracy {accuracy:.1f}")
single = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
costs = keras.ops.convert_to_numpy(single(np.array([0, 3, -1]), np.zeros((3, 3), "float32")))
print(
    f"keras {importlib.metadata.version('keras')} on {keras.backend.backend()}: {'; '.join(parts)};",
    f"costs of 0, 3 and -1 {' '.join(f'{abs(cost):.2f}' for cost in costs)}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on jax: labels 0 to 2: loss 0.0, accuracy 1.0; labels 1 to 3: loss 0.0, accuracy 0.6;\
 labels -1 to 1: loss 0.0, accuracy 0.7; costs of 0, 3 and -1 1.10 0.00 0.00"
