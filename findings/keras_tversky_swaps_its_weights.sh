#!/usr/bin/env bash
# `alpha` of Keras' Tversky loss, "incidence of false positives", weights the false negatives, and `beta` the false positives.
#
# Guess before the run: `tversky(labels, probabilities, alpha=1, beta=0)` counts false positives only, as its documentation
# and the paper that it cites have it (Salehi et al. 2017: alpha |P \ G| + beta |G \ P|).
# Seen: Keras 3.15.1 on NumPy, and alike on TensorFlow, JAX and PyTorch. Of four tokens that are names one is found and
# nothing else: with `alpha=1, beta=0` the loss is .75, with `alpha=0, beta=1` it is 0. Where the four are found that
# one is, the losses are swapped. The names in the code are: the labels are its "inputs", the predictions its "targets".
# Who sets `beta` above `alpha` for few positives, to find more of them, teaches a model to find fewer.
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

four = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], "float32")
one = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], "float32")
words = []
for name, labels, found in (("three missed", four, one), ("three too many", one, four)):
    losses = [
        keras.losses.Tversky(alpha=alpha, beta=1.0 - alpha)(labels, found) for alpha in (1.0, 0.0)
    ]
    words.append(f"{name}: alpha alone {losses[0]:.2f}, beta alone {losses[1]:.2f};")
print(f"keras {keras.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: three missed: alpha alone 0.75, beta alone 0.00; three too many: alpha alone 0.00, beta alone 0.75;"
