#!/usr/bin/env bash
# With labels [batch, 1] Keras' loss for noisy labels takes the mean over all pairs of a text and another's label.
#
# Guess before the run: `CategoricalGeneralizedCrossEntropy` gives labels of the shapes [batch] and [batch, 1], both of
# which its documentation names, the same loss.
# Seen: Keras 3.15.1 on NumPy, and alike on TensorFlow, JAX and PyTorch. Two texts whose labels have the probability 1 cost
# 0 with labels [2], and 1.00 with labels [2, 1]; that is also what two texts cost there that are both wrong. One-hot
# labels of [2, 1, classes] are multiplied with probabilities [2, classes], which makes losses [2, 2] of every
# text with every label: what a model learns by it is how often a label occurs. `q` is .5.
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

loss = keras.losses.CategoricalGeneralizedCrossEntropy(q=0.5)
labels = np.array([0, 1])
words = []
for name, probabilities in (("right", np.eye(2)), ("wrong", 1.0 - np.eye(2))):
    values = [float(loss(part, probabilities.astype("float32"))) for part in (labels, labels[:, None])]
    words.append(f"{name}: [2] {values[0]:.2f}, [2, 1] {values[1]:.2f};")
print(f"keras {keras.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: right: [2] 0.00, [2, 1] 1.00; wrong: [2] 2.00, [2, 1] 1.00;"
