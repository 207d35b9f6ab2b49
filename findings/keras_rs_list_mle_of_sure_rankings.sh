#!/usr/bin/env bash
# ListMLE of KerasRS costs a right ranking of scores 60, 30, 0 as much as the wrong one of 60, 0, 30: 43.95.
#
# Guess before the run: the loss is that of its documentation, -sum(log(exp(s_i) / sum(exp(s_j) for j >= i))), so that a
# right order with distances of 30 costs nothing and a wrong one 30, in whatever order equal documents are listed.
# Seen: keras-rs 0.4.0, keras 3.15.1, on JAX. The scores are taken against the greatest one and 1e-10 is added under the
# logarithm, so that no sum is below -23: all that is farther from the best document is pushed up, in any order. At
# temperature 0.1 this begins with distances of 2.3. With one right document of four, and three equal wrong ones, the
# loss is 1.16 to 4.16, as the wrong ones are to be ranked in the order in which they stand in the list.
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
import itertools

import keras_rs
import numpy as np


def cost(scores, labels=(2, 1, 0), temperature=1.0):
    loss = keras_rs.losses.ListMLELoss(temperature=temperature)
    return float(loss(np.float32([labels]), np.float32([scores])))


def exact(scores):
    return sum(np.logaddexp.reduce(scores[place:]) - score for place, score in enumerate(scores))


lists = (3, 2, 1), (60, 30, 0), (60, 0, 30)
parts = [f"{scores} {cost(scores):.2f} {exact(np.array(scores, float)):.2f}" for scores in lists]
cold = f"temperature 0.1 of (6, 3, 0) {cost((6, 3, 0), temperature=0.1):.2f} {exact(np.array([60.0, 30, 0])):.2f}"
equal = [cost((2, *wrong), (1, 0, 0, 0)) for wrong in itertools.permutations((-1, 1, 0))]
print(
    f"keras-rs {importlib.metadata.version('keras-rs')}, loss and definition: {', '.join(parts)}, {cold};",
    f"of one ranking by the order in the list {min(equal):.2f} to {max(equal):.2f}",
)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-rs 0.4.0, loss and definition: (3, 2, 1) 0.72 0.72, (60, 30, 0) 43.95 0.00, (60, 0, 30) 43.95\
 30.00, temperature 0.1 of (6, 3, 0) 43.95 0.00; of one ranking by the order in the list 1.16 to 4.16"
