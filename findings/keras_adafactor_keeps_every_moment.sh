#!/usr/bin/env bash
# Keras' Adafactor keeps a second moment for every weight, which is what it exists to avoid.
#
# Guess before the run: for a matrix of 1,000 x 1,000 the optimizer keeps a number per row and one per column, 2,000 in all,
# "sublinear memory cost" as the title of its paper says (Shazeer and Stern 2018) and as Adafactor of transformers has it.
# Seen: Keras 3.15.1: 1,002,002 numbers, as the product of both factors is kept as well, as a variable that nothing
# reads in the next update. For BERT Large that is 1.3 GB in float32; Adam keeps 2,000,002 numbers, SGD 2.
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

weight = keras.Variable(np.ones((1000, 1000), "float32"))
seen = [f"keras {keras.__version__}:"]
for kind in (keras.optimizers.Adafactor, keras.optimizers.Adam, keras.optimizers.SGD):
    optimizer = kind()
    optimizer.apply([keras.ops.ones((1000, 1000))], [weight])
    seen.append(f"{kind.__name__} {sum(np.size(variable) for variable in optimizer.variables):,}")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=numpy "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: Adafactor 1,002,002 Adam 2,000,002 SGD 2"
