#!/usr/bin/env bash
# `exclude_from_weight_decay(var_names=["layer_norm", "bias"])` of Keras leaves the LayerNorms decayed.
#
# Guess before the run: no variable of the layer "layer_norm" is decayed, since its name is in the list, as in
# the list ["LayerNorm", "layer_norm", "bias"] that BERT's optimizers have had since the original.
# Seen: Keras 3.15.1. One step of AdamW without gradients, rate 0.1 and decay 0.1: the bias of the Dense layer
# stays, but gamma and beta of the LayerNorm shrink to 0.99, like the kernel. The patterns are searched for in
# `variable.name`, which is "gamma" in Keras 3; the layer is in `variable.path` alone. Nothing warns of a
# pattern that matches no variable. In KerasHub 0.32.0's BertBackbone the list above spares the biases only.
# The optimizers of this project exclude "bias", "gamma" and "beta", and warn of a pattern that excludes
# nothing (modeling/optimizer.py).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

model = keras.Sequential(
    [
        keras.Input((4,)),
        keras.layers.Dense(4, bias_initializer="ones", name="dense"),
        keras.layers.LayerNormalization(beta_initializer="ones", name="layer_norm"),
    ]
)
optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.1)
optimizer.exclude_from_weight_decay(var_names=["layer_norm", "bias"])
before = model.get_weights()
optimizer.apply([keras.ops.zeros_like(variable) for variable in model.variables], model.variables)
seen = [f"keras {keras.__version__}:"]
for variable, old, new in zip(model.variables, before, model.get_weights()):
    name = "/".join(variable.path.split("/")[-2:])
    seen.append(f"{name} {np.linalg.norm(new) / np.linalg.norm(old):.2f}")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: dense/kernel 0.99 dense/bias 1.00 layer_norm/gamma 0.99 layer_norm/beta 0.99"
