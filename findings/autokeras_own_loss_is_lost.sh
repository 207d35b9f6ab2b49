#!/usr/bin/env bash
# AutoKeras throws the loss away that a classification head is given, and trains with cross entropy: nothing is said.
#
# Guess before the run: `ClassificationHead(loss=my_loss)`, "loss: A Keras loss function", trains the model with this
# loss; a focal loss or class weights within it are what the search minimizes.
# Seen: autokeras 3.0.0 with Keras 3.10.0 on JAX. A loss that is 7 for every row is reported as .8 for two classes and
# 1.2 for three in the first epoch, and the exported model has BinaryCrossentropy and CategoricalCrossentropy: the head
# sets its loss anew once it has seen the labels. The loss of a `RegressionHead` is kept, 7.0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.10.0 keras-tuner==1.4.8 jax==0.10.2 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 six==1.17.0 \
    dm-tree==0.1.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    autokeras==3.0.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import autokeras
import keras
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(200, 4)).astype("float32")


@keras.saving.register_keras_serializable()
class Seven(keras.losses.Loss):
    def call(self, labels, predictions):
        return 7.0 + 0.0 * keras.ops.mean(predictions, axis=-1)


def first_epoch(name, labels, head):
    inputs = autokeras.Input()
    outputs = autokeras.DenseBlock(num_layers=1, num_units=8, use_batchnorm=False, dropout=0.0)(inputs)
    model = autokeras.AutoModel(
        inputs, head(loss=Seven(), dropout=0.0)(outputs), max_trials=1, directory=sys.argv[1], project_name=name, seed=0
    )
    keras.utils.set_random_seed(0)
    losses = model.fit(x, labels, epochs=2, verbose=0).history["loss"]
    used = model.export_model().loss
    used = next(iter(used.values())) if isinstance(used, dict) else used
    return f"{name} {losses[0]:.1f} {getattr(used, 'name', used)}"


two = (x[:, 0] > 0).astype(int)
parts = [
    first_epoch("two classes", two, autokeras.ClassificationHead),
    first_epoch("three classes", two + (x[:, 1] > 0), autokeras.ClassificationHead),
    first_epoch("regression", x[:, 1], autokeras.RegressionHead),
]
print(f"autokeras {importlib.metadata.version('autokeras')}, loss of 7: {'; '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "autokeras 3.0.0, loss of 7: two classes 0.8 binary_crossentropy; three classes 1.2\
 categorical_crossentropy; regression 7.0 seven"
