#!/usr/bin/env bash
# The masked-LM layer of KerasHub masks 15 % of the tokens when it is called, and 20 % of short texts in tf.data.
#
# Guess before the run: `MaskedLMMaskGenerator(mask_selection_rate=0.15)` chooses tokens by the same rule in
# `Dataset.map` and when it is called on a batch (or by Grain); other random numbers, the same distribution.
# Seen: KerasHub 0.32.0. Of 20,000 texts of 10 tokens each has exactly 2 masked in tf.data, the rate rounded up. Called on
# the same array, each token is chosen by itself: 1.5 a text on average, and a fifth of the texts have none and teach
# nothing. There are two implementations, and the place of the call decides which one
# runs. The original's program rounds to the nearest and takes one at least.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import keras_hub
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
generator = keras_hub.layers.MaskedLMMaskGenerator(
    vocabulary_size=1000, mask_selection_rate=0.15, mask_token_id=4, mask_selection_length=10
)
texts = np.random.default_rng(0).integers(5, 1000, size=(20000, 10))
called = np.sum(np.array(generator(texts)["mask_weights"]), axis=1)
mapped = np.sum(next(iter(tf.data.Dataset.from_tensors(texts).map(generator)))["mask_weights"], axis=1)
print(f"keras_hub {keras_hub.__version__}:", end="")
for name, masked in (("called", called), ("mapped", mapped)):
    print(f" {name} {masked.mean():.1f} a text, none in {np.mean(masked == 0):.0%};", end="")
print()
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: called 1.5 a text, none in 19%; mapped 2.0 a text, none in 0%;"
