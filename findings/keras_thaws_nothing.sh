#!/usr/bin/env bash
# `model.trainable = True` thaws no layer that was frozen by itself on TensorFlow; on JAX it thaws them all.
#
# Guess before the run: the setter hands its value to every layer below, as its source says, on both engines.
# A model is trained with its lower layers frozen, and then `trainable = True` trains all of it.
# Seen: Keras 3.15.1. Two of three Dense layers are frozen one by one. Then `model.trainable = True` leaves 2 of
# 6 weights to train on TensorFlow 2.20.0, and 6 of 6 on JAX 0.10.2. TensorFlow's layers skip an assignment
# of the object that an attribute holds already, and the model's own `trainable` has been True all the time,
# so the setter is not called. False and then True thaws all on both.
# Gradual unfreezing from the top goes on with the frozen weights, and nothing is said. The same holds for a
# layer of layers, such as an encoder's. Count `len(model.trainable_weights)` after a change.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2 tensorflow-cpu==2.20.0
cat > "$folder/program.py" <<'PYTHON'
import keras

model = keras.Sequential([keras.Input((4,)), *[keras.layers.Dense(4) for _ in range(3)]])
for layer in model.layers[:2]:
    layer.trainable = False
counts = [len(model.trainable_weights)]
model.trainable = True
counts.append(len(model.trainable_weights))
model.trainable = False
model.trainable = True
counts.append(len(model.trainable_weights))
print(f"keras {keras.__version__} {keras.config.backend()}: frozen", "%d, True %d, False and True %d" % tuple(counts))
PYTHON
seen=$(for engine in tensorflow jax; do
    KERAS_BACKEND=$engine "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1
done)
echo "$seen"
test "$seen" = "keras 3.15.1 tensorflow: frozen 2, True 2, False and True 6
keras 3.15.1 jax: frozen 2, True 6, False and True 6"
