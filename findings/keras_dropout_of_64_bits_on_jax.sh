#!/usr/bin/env bash
# A seeded float32 Dropout of Keras drops other units on JAX where 64 bits are allowed; all else that is random stays.
#
# Guess before the run: `jax_enable_x64` lets arrays of 64 bits exist, and a layer of float32 with a seed, on float32
# inputs, drops what it drops without it, as Keras gives its random functions a type.
# Seen: Keras 3.15.1, JAX 0.10.2, Dropout(0.1, seed=1, dtype="float32") on 4 x 8 ones: the places 7, 29 and 30 are zero,
# and with JAX_ENABLE_X64=1 the places 1, 2, 4 and 9. `keras.random.uniform`, `normal`, `randint` and `shuffle` with the
# same seed are equal. Keras gives JAX the probability as a Python number: JAX takes it as float64 then, and compares it
# with as many numbers of 64 bits. A run that is repeated in a program which needs 64 bits elsewhere is another run.
# The dropout of this project's training loop is a hash of seed, step, place and example (modeling/dropout.py).
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

dropped = keras.layers.Dropout(0.1, seed=1, dtype="float32")(np.ones((4, 8), "float32"), training=True)
assert dropped.dtype == "float32"
random = keras.random
others = [random.uniform((3,), seed=1), random.normal((3,), seed=1), random.randint((3,), 0, 99, seed=1)]
others.append(random.shuffle(np.arange(6), seed=1))
print(np.flatnonzero(np.asarray(dropped) == 0), *(np.asarray(value).tolist() for value in others), sep="|")
PYTHON
lines=()
for allowed in 0 1; do
    lines+=("$(KERAS_BACKEND=jax JAX_PLATFORMS=cpu JAX_ENABLE_X64=$allowed "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null)")
done
test "${lines[0]#*|}" = "${lines[1]#*|}" && others=equal || others=different
seen="32 bits: ${lines[0]%%|*} 64 bits: ${lines[1]%%|*} others: $others"
echo "$seen"
test "$seen" = "32 bits: [ 7 29 30] 64 bits: [1 2 4 9] others: equal"
