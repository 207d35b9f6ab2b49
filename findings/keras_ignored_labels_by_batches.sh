#!/usr/bin/env bash
# The masked-LM loss that Keras' `evaluate` reports depends on the batch size: of one model, perplexity 5.92 or 1.95.
#
# Guess before the run: `SparseCategoricalCrossentropy(ignore_class=-1)` leaves out what is not masked, so that
# `evaluate` reports the mean over all masked tokens, whatever the batches are.
# Seen: Keras 3.15.1 on JAX 0.10.2, and the same on TensorFlow 2.20.0 and PyTorch 2.13.0. A model of fixed logits
# has a loss of 2 at each of 8 masked tokens of one row, of 0 at the one of another, and the third row has none; the
# mean over the nine tokens is 1.778. In one batch 1.778 is reported, in batches of two rows 1.185, of one 0.667.
# A batch's mean over its masked tokens is weighted by its rows, and that of a row without any is 0, not left
# out. `history["val_loss"]`, and what stops early by it, have these numbers.
# `evaluate` of this project's models weights by tokens (docs/keras.md).
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

labels = np.full((3, 8), -1)
labels[0] = 0
labels[1, 0] = 0
# Two classes: the first one has probability exp(-2) in row 0, and 1 in row 1.
logits = np.zeros((3, 8, 2), "float32")
logits[0, :, 0] = np.log(1 / (np.exp(2) - 1))
logits[1, :, 0] = 100

inputs = keras.Input((8, 2))
model = keras.Model(inputs, keras.layers.Identity()(inputs))
seen = [f"keras {keras.__version__}:"]
for size in (3, 2, 1):
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1))
    loss = model.evaluate(logits, labels, batch_size=size, verbose=0)
    seen.append(f"{loss:.3f} perplexity {np.exp(loss):.2f};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: 1.778 perplexity 5.92; 1.185 perplexity 3.27; 0.667 perplexity 1.95;"
