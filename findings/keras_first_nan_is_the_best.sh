#!/usr/bin/env bash
# If the first score of a Keras run is NaN, no later one is better: training ends, with the weights of the first epoch.
#
# Guess before the run: A score that is NaN once, as a Spearman correlation is while a BERT says the same of all
# pairs, is no best one: `EarlyStopping`, `ModelCheckpoint` and `ReduceLROnPlateau` go on with the next.
# Seen: Keras 3.15.1 on JAX 0.10.2. The first score is always the best one so far, and nothing is greater or less than
# NaN. Where the scores after it rise to .90, training stops after four epochs with patience 3, the weights of the
# first epoch are restored, the saved model is that one, and the learning rate falls: the loss is 6.22. With .1 in
# place of NaN eight epochs end at .18.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import sys

import keras
import numpy as np

random = np.random.default_rng(0)
x = random.normal(size=(32, 4)).astype("float32")
y = x @ np.ones((4, 1), "float32")


class Scores(keras.callbacks.Callback):
    def __init__(self, scores):
        super().__init__()
        self.scores = scores

    def on_epoch_end(self, epoch, logs=None):
        logs["val_rho"] = self.scores[epoch]


words = []
for first in (float("nan"), 0.1):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    choice = {"monitor": "val_rho", "mode": "max"}
    stop = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True, **choice)
    save = keras.callbacks.ModelCheckpoint(f"{sys.argv[1]}/best.keras", save_best_only=True, **choice)
    slow = keras.callbacks.ReduceLROnPlateau(patience=2, **choice)
    scores = Scores([first, 0.3, 0.5, 0.7, 0.8, 0.85, 0.87, 0.9])
    history = model.fit(x, y, epochs=8, verbose=0, callbacks=[scores, stop, save, slow]).history
    loss = model.evaluate(x, y, verbose=0)
    saved = keras.saving.load_model(f"{sys.argv[1]}/best.keras").evaluate(x, y, verbose=0)
    epochs, best, rate = len(history["loss"]), stop.best_epoch + 1, history["learning_rate"][-1]
    words.append(f"first {first}: {epochs} epochs, best {best}, rate {rate:.2f}, loss {loss:.2f}, saved {saved:.2f}")
print(f"keras {keras.__version__}: {'; '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: first nan: 4 epochs, best 1, rate 0.01, loss 6.22, saved 6.22; first 0.1: 8 epochs,\
 best 8, rate 0.10, loss 0.18, saved 0.18"
