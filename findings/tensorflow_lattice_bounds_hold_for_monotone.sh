#!/usr/bin/env bash
# A factored lattice of TensorFlow Lattice with output_min=0 predicts -3.1: bounds hold for monotone features alone.
#
# Guess before the run: a lattice with bounds of the output, a probability that a BERT's score and another feature give,
# stays within them after training, whatever the labels are and with or without monotone features.
# Seen: tensorflow-lattice 2.1.1 with TensorFlow 2.21.0 and tf_keras 2.21.0. The bounds hold at the start, and after
# training where the features are monotone. Without monotone features outputs are from -3.1 to 3.1 with the bounds 0
# and 1: the scale is held, the kernel is not. The plain Lattice with the same bounds stays in them.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.21.0 numpy==2.4.6 tf_keras==2.21.0 tensorflow-lattice==2.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow_lattice
import tf_keras

from tensorflow_lattice.layers import KroneckerFactoredLattice, Lattice

random = np.random.default_rng(0)
features = random.uniform(0, 2, size=(256, 2)).astype("float32")
labels = 3 * (features[:, 1:] - features[:, :1])
grid = np.stack(np.meshgrid(*[np.linspace(0, 2, 21)] * 2), axis=-1).reshape(-1, 2).astype("float32")
bounds = {"output_min": 0.0, "output_max": 1.0}
words = []
for name, layer in (
    ("Lattice", Lattice([3, 3], **bounds)),
    ("factored, monotone", KroneckerFactoredLattice(3, num_terms=1, monotonicities=[1, 1], **bounds)),
    ("factored", KroneckerFactoredLattice(3, num_terms=1, **bounds)),
):
    tf_keras.utils.set_random_seed(0)
    model = tf_keras.Sequential([layer])
    model.compile(tf_keras.optimizers.legacy.SGD(0.05), "mse")
    found = []
    for epochs in (0, 60):
        if epochs:
            model.fit(features, labels, epochs=epochs, batch_size=64, verbose=0)
        outputs = model.predict(grid, verbose=0)
        within = -1e-5 < outputs.min() and outputs.max() < 1 + 1e-5
        found.append("within" if within else "below -1" if outputs.min() < -1 else "outside")
    words.append(f"{name} {found[0]}, then {found[1]}")
print(f"tensorflow-lattice {importlib.metadata.version('tensorflow-lattice')}, bounds 0 and 1: {'; '.join(words)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow-lattice 2.1.1, bounds 0 and 1: Lattice within, then within; factored, monotone within, then\
 within; factored within, then below -1"
