#!/usr/bin/env bash
# Trax's binary cross entropy is NaN for a text that is surely right: from a logit of 17 on the loss of a batch is NaN.
#
# Guess before the run: `BinaryCrossEntropy()`, which takes "a batch of activation values", each "a float in (-inf,
# inf)", is 0 for a text with the label 1 and a logit of 17 or more, and about 17 for one with the label 0.
# Seen: trax 1.4.1. For label 1 it is .0067 at a logit of 5, and NaN at 17 and 90: the sigmoid is 1 in float32, and the
# part of label 0, which counts 0 times, is the log of 0. So one sure and right text of 32 makes the mean NaN, and its
# gradient as well. Sure errors are infinite from 17 on, where PyTorch and TensorFlow have 17.0. A text with the label 0
# is NaN at -90. `CategoryCrossEntropy` of two classes is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 scipy==1.17.1 gin-config==0.5.0 absl-py==2.5.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    trax==1.4.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import importlib.util
import sys
import types
from unittest.mock import MagicMock

# The metrics alone, without TensorFlow, which the whole package imports, and its other parts.
names = "tensorflow tensorflow.compat tensorflow.compat.v2 tensorflow_datasets tensorflow_text gym psutil"
names += " trax.fastmath.tf"
sys.modules.update({name: MagicMock() for name in names.split()})
root = importlib.util.find_spec("trax").submodule_search_locations[0]
for name, path in (("trax", root), ("trax.layers", f"{root}/layers")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]

import jax
import jax.numpy as jnp
from trax.layers.metrics import BinaryCrossEntropy, CategoryCrossEntropy

loss = BinaryCrossEntropy()
two_classes = CategoryCrossEntropy()


def value(logits, labels):
    return loss((jnp.array(logits), jnp.array(labels)))


parts = []
for label, logits in ((1, (5.0, 16.0, 17.0, 90.0)), (0, (16.0, 17.0, -90.0, -110.0))):
    parts.append(f"label {label} {' '.join(f'{logit:g}: {value([logit], [label]):.2g}' for logit in logits)}")
batch = [1.0] * 31 + [17.0]
gradient = jax.grad(lambda logits: value(logits, [1] * 32))(jnp.array(batch))
pairs = jnp.array([[0.0, logit] for logit in batch])
parts.append(f"one of 32 at 17 {value(batch, [1] * 32):.2g} gradient {gradient[-1]:.2g}")
parts.append(f"by two classes {two_classes((pairs, jnp.ones(32, int))):.2g}")
print(f"trax {importlib.metadata.version('trax')}: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "trax 1.4.1: label 1 5: 0.0067 16: 1.2e-07 17: nan 90: nan; label 0 16: 16 17: inf -90: nan -110: nan;\
 one of 32 at 17 nan gradient nan; by two classes 0.3"
