#!/usr/bin/env bash
# `class_weight` of Keras gives a text of several labels the weight of its first one, and one without labels that of class 0.
#
# Guess before the run: `class_weight` with rows of 0 and 1, several of which may be 1, is refused, or a label's loss
# is weighted by its class.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0. A text's weight is that of the position of its largest label: of (0, 1, 1),
# with weights 10, 1 and 100 for the three classes, it is 1; the rare class 2, which has the weight 100, is left
# out. A text to which no class applies has the weight 10 of class 0. The documentation asks for one-hot rows, and rows
# that are none are taken without a word, from arrays and from datasets.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(3, "sigmoid", kernel_initializer="zeros")])
# Probabilities are one half, so that each label costs log 2; nothing is learned.
model.compile(keras.optimizers.SGD(0.0), "binary_crossentropy")
text = np.ones((1, 1), "float32")
words = []
for labels in ([1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]):
    rows = np.array([labels], "float32")
    weights = {0: 10.0, 1: 1.0, 2: 100.0}
    of_arrays = model.fit(text, rows, class_weight=weights, verbose=0).history["loss"][0]
    dataset = tf.data.Dataset.from_tensors((text, rows))
    of_dataset = model.fit(dataset, class_weight=weights, verbose=0).history["loss"][0]
    assert np.isclose(of_arrays, of_dataset)
    words.append(f"{labels} {of_arrays / np.log(2):.4g}")
print(f"keras {keras.__version__}:", *words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: [1, 0, 0] 10 [0, 1, 1] 1 [0, 0, 1] 100 [0, 0, 0] 10"
