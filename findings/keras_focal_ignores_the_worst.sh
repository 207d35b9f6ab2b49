#!/usr/bin/env bash
# Keras' focal losses teach nothing where a model is most wrong: from a logit of 17 on the gradient is 0.
#
# Guess before the run: A focal loss is there for hard examples. With `from_logits=True` its gradient for a sure and
# wrong answer is that of the cross entropy, about 1, however sure it is.
# Seen: Keras 3.15.1 on JAX 0.10.2. The logits become probabilities, which are cut at 1e-7 before the logarithm, so
# that the gradient ends where the loss is 16. At a logit of 20, as wrong labels of a trained BERT may have, the
# binary focal loss has a gradient of 7e-8 and the categorical one 0; the cross entropies have 1.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 numpy==2.4.6 scipy==1.17.1 jax==0.10.2
cat > "$folder/program.py" <<'PYTHON'
import jax
import keras
import numpy as np


def slopes(loss, labels, logits_of):
    gradient = jax.grad(lambda logits: loss(labels, logits))
    return " ".join(f"{np.abs(gradient(logits_of(logit))).max():.6f}" for logit in (5.0, 15.0, 17.0, 20.0))


one = np.array([[1.0]], "float32")
two = np.array([[1.0, 0.0]], "float32")
words = []
for name, labels, logits_of in (
    ("BinaryCrossentropy", one, lambda logit: np.array([[-logit]], "float32")),
    ("BinaryFocalCrossentropy", one, lambda logit: np.array([[-logit]], "float32")),
    ("CategoricalCrossentropy", two, lambda logit: np.array([[0.0, logit]], "float32")),
    ("CategoricalFocalCrossentropy", two, lambda logit: np.array([[0.0, logit]], "float32")),
):
    words.append(f"{name} {slopes(getattr(keras.losses, name)(from_logits=True), labels, logits_of)}")
print(f"keras {keras.__version__}, gradients at logits 5, 15, 17, 20 of the wrong class: {', '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, gradients at logits 5, 15, 17, 20 of the wrong class: BinaryCrossentropy 0.993307\
 1.000000 1.000000 1.000000, BinaryFocalCrossentropy 1.046180 1.000008 0.000001 0.000000, CategoricalCrossentropy\
 0.993307 1.000000 1.000000 1.000000, CategoricalFocalCrossentropy 0.261545 0.250002 0.000000 0.000000"
