#!/usr/bin/env bash
# A last batch without a pair makes all weights NaN with the semi-hard triplet loss of TensorFlow Addons.
#
# Guess before the run: a batch in which no two texts have the same label has no triplet, and costs nothing; the last
# three of 67 texts, 16 in a batch, with three labels, are such a one.
# Seen: tensorflow-addons 0.23.0 with TensorFlow 2.15.1. The sum over pairs is divided by their number, 0 / 0, and
# the gradients of all weights are NaN: after an epoch of 67 texts the encoder's vectors are NaN, after one of 64
# not. LiftedStructLoss does the same, TripletHardLoss has numbers. With many labels and small batches any batch may
# be one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.15.1 numpy==1.26.4 tensorflow-addons==0.23.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
import tensorflow_addons as tfa

def after(loss, number):
    """What the vectors of an encoder are after an epoch of some texts of four labels, 16 in a batch."""
    tf.keras.utils.set_random_seed(0)
    unit = tf.keras.layers.UnitNormalization()
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4), unit])
    model.compile("sgd", loss)
    texts = np.random.default_rng(0).normal(size=(number, 8)).astype("float32")
    model.fit(texts, np.arange(number) % 4, batch_size=16, shuffle=False, verbose=0)
    return "numbers" if np.isfinite(model.predict(texts, verbose=0)).all() else "NaN"


words = []
for name in ("TripletSemiHardLoss", "LiftedStructLoss", "TripletHardLoss"):
    words.append(f"{name} {' '.join(after(getattr(tfa.losses, name)(), number) for number in (64, 67))}")
print(
    f"tensorflow-addons {importlib.metadata.version('tensorflow-addons')}, tensorflow {tf.__version__},",
    f"vectors after 64 and 67 texts: {', '.join(words)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-addons 0.23.0, tensorflow 2.15.1, vectors after 64 and 67 texts: TripletSemiHardLoss\
 numbers NaN, LiftedStructLoss numbers NaN, TripletHardLoss numbers numbers"
