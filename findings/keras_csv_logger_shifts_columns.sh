#!/usr/bin/env bash
# Keras' `CSVLogger(append=True)` writes a resumed run's val_mae in the column of val_loss, which seems to have fallen.
#
# Guess before the run: With `append=True`, "useful for continuing training", the rows of the run that goes on stand
# under the columns that the file begins with.
# Seen: Keras 3.15.1 on JAX 0.10.2. Before the first evaluation, as with `validation_freq=2`, the columns are those of
# training and the same with "val_", so also val_learning_rate, which does not exist. The resumed run begins with an
# evaluation, has one column less, and writes its rows under the old header: val_loss is 10.15 and then 2.59, which is
# the mean absolute error; the loss is 9.64, under val_learning_rate.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import csv
import sys

import keras
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(32, 4)).astype("float32")
y = x @ np.ones((4, 1), "float32")
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", metrics=["mae"])
losses = []
for begin, end, every in ((0, 2, 2), (2, 4, 1)):
    callbacks = [
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.01),
        keras.callbacks.CSVLogger(f"{sys.argv[1]}/log.csv", append=True),
    ]
    when = {"initial_epoch": begin, "epochs": end, "validation_freq": every}
    history = model.fit(x, y, validation_data=(x, y), verbose=0, callbacks=callbacks, **when).history
    losses += history["val_loss"]
with open(f"{sys.argv[1]}/log.csv") as file:
    rows = list(csv.DictReader(file))
logged = [row["val_loss"] for row in rows]
print(
    f"keras {keras.__version__}: val_loss of epochs 2 to 4 {' '.join(f'{loss:.2f}' for loss in losses)},",
    f"in the file {' '.join(f'{float(loss):.2f}' for loss in logged if loss != 'NA')};",
    f"columns {' '.join(rows[0])}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: val_loss of epochs 2 to 4 10.15 9.64 9.15, in the file 10.15 2.59 2.52; columns epoch\
 learning_rate loss mae val_learning_rate val_loss val_mae"
