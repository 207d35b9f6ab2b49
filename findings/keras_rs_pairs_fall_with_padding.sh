#!/usr/bin/env bash
# Pairwise losses of KerasRS fall with the padding of a list: of 5 documents in 100 places a twentieth is left.
#
# Guess before the run: documents with the label -1, which are "ignored in loss computation", change nothing in
# `PairwiseHingeLoss` and the other pairwise losses.
# Seen: keras-rs 0.4.0. They form no pairs, and count in the mean: `sum_over_batch_size` divides by the number of places
# in the list. One list of five documents has a hinge loss of 1.54 without padding, .77 in ten places and .08 in a
# hundred; the logistic loss and the squared error fall alike. So the loss and its gradient depend on the longest list
# of a batch, or of the data, and lists beside the long one count less. A mask has the same effect. ListMLE of the
# package doesn't change.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6 ml-dtypes==0.5.4
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-rs==0.4.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from keras_rs import losses

labels = np.array([[2.0, 0.0, 1.0, 0.0, 3.0]], "float32")
scores = np.array([[0.5, 0.2, 0.9, 0.1, 0.3]], "float32")
parts = []
for name in ("PairwiseHingeLoss", "PairwiseLogisticLoss", "PairwiseMeanSquaredError", "ListMLELoss"):
    loss = getattr(losses, name)()
    values = []
    for places in (5, 10, 100):
        padding = [(0, 0), (0, places - 5)]
        padded = np.pad(labels, padding, constant_values=-1), np.pad(scores, padding)
        masked = {"labels": np.pad(labels, padding), "mask": np.pad(labels, padding, constant_values=-1) >= 0}
        values.append(f"{loss(*padded):.2f}/{loss(masked, padded[1]):.2f}")
    parts.append(f"{name} {' '.join(values)}")
print(f"keras-rs {importlib.metadata.version('keras-rs')}, in 5, 10 and 100 places, label -1/mask: {', '.join(parts)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-rs 0.4.0, in 5, 10 and 100 places, label -1/mask: PairwiseHingeLoss 1.54/1.54 0.77/0.77\
 0.08/0.08, PairwiseLogisticLoss 1.17/1.17 0.58/0.58 0.06/0.06, PairwiseMeanSquaredError 12.80/12.80 6.40/6.40\
 0.64/0.64, ListMLELoss 4.42/4.42 4.42/4.42 4.42/4.42"
