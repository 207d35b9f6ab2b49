#!/usr/bin/env bash
# The weight decay of Keras' LAMB is fifty times that of the paper, for weights as BERT's are initialized.
#
# Guess before the run: `Lamb(weight_decay=...)` adds the decay to Adam's update and scales the sum by the
# trust ratio, as algorithm 2 of LAMB (You et al. 2020) and optax.lamb do.
# Seen: Keras 3.15.1, one update of weights of size 0.02 with rate 0.1 and decay 0.1. By the paper they lose
# 0.0002 of their length, in Keras 0.0100: it decays before the update and outside of the trust ratio, which is
# 0.02 here. The smaller the weights, the larger the difference, so that a decay taken from a LAMB recipe is
# not that recipe's. optax 0.2.8 gives the paper's numbers.
# `BertLamb` of this project decays within the ratio (modeling/optimizer.py).
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

rate, decay = 0.1, 0.1
# At right angles, so that what a weight loses along itself is the decay.
weight = np.tile(np.array([0.02, 0.02, -0.02, -0.02], "float32"), 256)
gradient = np.tile(np.array([1.0, -1.0, 1.0, -1.0], "float32"), 256)


def lost(new):
    return 1.0 - float(new @ weight / (weight @ weight))


# The first update of the paper: u = m / sqrt(v) + decay w, as long as rate |w|.
update = np.sign(gradient) + decay * weight
paper = weight - rate * np.linalg.norm(weight) / np.linalg.norm(update) * update
variable = keras.Variable(weight)
optimizer = keras.optimizers.Lamb(rate, weight_decay=decay)
optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
print(f"keras {keras.__version__}: lost {lost(variable.numpy()):.4f}, by the paper {lost(paper):.4f}")
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: lost 0.0100, by the paper 0.0002"
