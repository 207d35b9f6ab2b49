#!/usr/bin/env bash
# Keras' `set_state_tree` leaves every weight as it is, without a word, in a second model of one process.
#
# Guess before the run: the tree of one model, `get_state_tree()`, given to another one that was built by the same
# function, makes both equal, or a name without a place is an error, as wrong shapes are.
# Seen: Keras 3.15.1 on JAX, and alike on TensorFlow 2.20.0. None of the 4 weights, of the optimizer's variables and of the dropout's
# state is assigned: variables are found by their paths, the second model's layers are called dense_2 and dense_3, and a path that is
# not found is passed over. With names given to layers and model the weights are equal; the dropout's state, whose name is made
# up anyway, is not, so that a run that goes on from a tree drops other units.
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


def model(*names):
    layers = [keras.layers.Dense(8, name=names[0]), keras.layers.Dropout(0.1), keras.layers.Dense(2, name=names[1])]
    result = keras.Sequential([keras.Input((4,)), *layers], name=names[2])
    result.compile("sgd", loss="mse")
    return result


seen = [f"keras {keras.__version__}:"]
for names in ((None, None, None), ("first", "second", "model")):
    source, target = model(*names), model(*names)
    source.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
    target.set_state_tree(source.get_state_tree(value_format="numpy_array"))
    weights = zip(source.trainable_variables, target.trainable_variables)
    equal = sum(np.array_equal(a, b) for a, b in weights)
    (a,), (b,) = source.non_trainable_variables, target.non_trainable_variables
    seen.append(f"{equal} of 4 weights, state of dropout {'equal' if np.array_equal(a, b) else 'another'};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 0 of 4 weights, state of dropout another; 4 of 4 weights, state of dropout another;"
