#!/usr/bin/env bash
# On NumPy `scatter_update` and `slice_update` of Keras change the array they are given: masked ids replace the text.
#
# Guess before the run: `keras.ops.scatter_update(ids, places, values)` returns new ids and leaves `ids`, as on the
# other backends; a binary loss from scores is the same on all of them.
# Seen: Keras 3.15.1 on NumPy. Both operations write into their input: after [MASK] was put into a copy, the labels that
# are taken from the text afterwards are [MASK], too. With `reduction="add"` counts are added twice if the call is
# repeated. On JAX the input stays. The binary cross entropy of a score of -100 for a yes is 16.12, and 100.00 on JAX:
# the sigmoid is taken first, and cut off. `top_k` returns the later one of two equal scores first, JAX the earlier one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    keras==3.15.1 jax==0.10.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import os
import subprocess
import sys

if len(sys.argv) > 2:
    os.environ["KERAS_BACKEND"] = sys.argv[2]
    import keras
    import numpy as np

    ids = np.array([7, 8, 9])
    keras.ops.scatter_update(ids, [[1]], np.array([103]))
    text = np.array([7, 8, 9])
    keras.ops.slice_update(text, [2], np.array([103]))
    counts = np.zeros(2)
    for _ in range(2):
        added = keras.ops.scatter_update(counts, [[0]], np.array([1.0]), reduction="add")
    loss = keras.losses.BinaryCrossentropy(from_logits=True)(np.array([1.0]), np.array([-100.0]))
    best = keras.ops.convert_to_numpy(keras.ops.top_k(np.array([1.0, 3.0, 3.0]), 2)[1])
    print(ids.tolist(), text.tolist(), f"{float(added[0]):g} {float(loss):.2f}", best.tolist())
else:
    import importlib.metadata

    parts = []
    for backend in ("numpy", "jax"):
        command = [sys.executable, __file__, sys.argv[1], backend]
        parts.append(f"{backend} {subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()}")
    print(f"keras {importlib.metadata.version('keras')}, ids, text, count, loss, best two: {'; '.join(parts)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, ids, text, count, loss, best two: numpy [7, 103, 9] [7, 8, 103] 2 16.12 [2, 1]; jax [7,\
 8, 9] [7, 8, 9] 1 100.00 [1, 2]"
