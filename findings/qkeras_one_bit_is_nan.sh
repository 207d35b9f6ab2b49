#!/usr/bin/env bash
# With one bit and `alpha="auto"` all weights of a layer are NaN in qkeras, and with "auto_po2" they are 0.
#
# Guess before the run: `quantized_bits(1, 0, 1, alpha="auto")` is what `binary(alpha="auto")` is, plus and minus one
# number per column: the mean size of the weights.
# Seen: qkeras 0.9.0. With "auto" a kernel is NaN, and so is every output; with "auto_po2" it is 0, so that all texts
# get the same answer. Without an alpha and with 1.0 it is -1 and 1, and with two bits all are numbers. With a sign, one
# bit leaves no step: the largest integer is 2^0 - 1 = 0, and scales are divided by it. `binary` has .016 and -.016 for
# weights as a BERT's are. A search over bits that begins at 1 finds a model of NaN, or one that answers always alike.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6 pyparsing==3.3.3 tqdm==4.70.1 networkx==3.6.1 scikit-learn==1.9.1 \
    scipy==1.17.1 dm-tree==0.1.10
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    qkeras==0.9.0 tensorflow-model-optimization==0.8.1 six==1.17.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import tensorflow as tf
from qkeras import binary, quantized_bits

kernel = tf.constant(np.random.default_rng(0).normal(size=(768, 2)).astype("float32") * 0.02)


def sizes(quantizer):
    column = np.unique(np.round(quantizer(kernel).numpy()[:, 0], 3))
    return " ".join(f"{number:g}" for number in column + 0.0)


parts = [f"binary {sizes(binary(alpha='auto'))}"]
for bits in (1, 2):
    for alpha in ("auto", "auto_po2", None, 1.0):
        parts.append(f"{bits} bits {alpha} {sizes(quantized_bits(bits, 0, 1, alpha=alpha))}")
print(f"qkeras {importlib.metadata.version('qkeras')}, column of a kernel: {', '.join(parts)}")
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "qkeras 0.9.0, column of a kernel: binary -0.016 0.016, 1 bits auto nan, 1 bits auto_po2 0, 1 bits None\
 -1 1, 1 bits 1.0 -1 1, 2 bits auto -0.078 0 0.078, 2 bits auto_po2 -0.031 0 0.031, 2 bits None 0, 2 bits 1.0 0"
