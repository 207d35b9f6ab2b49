#!/usr/bin/env bash
# Scores that a mask multiplies by 0 are ties in TensorFlow; under `jit_compile` the negative ones rank last.
#
# Guess before the run: 0 and -0 are equal numbers, so `tf.math.top_k` gives the lower index first, as its
# documentation says of equal elements, and a stable `tf.argsort` keeps their order, compiled or not.
# Seen: tensorflow 2.20.0 on a CPU. Scores -1 2 -3 4 5 times the mask 0 0 0 0 1 are -0 0 -0 0 5. Plain TensorFlow ranks
# them 4 0 1 2 3. Compiled by XLA, which sorts -0 below 0, they are 4 1 3 0 2, with top_k and with argsort(stable=True)
# alike: what was masked is ranked by the sign that it had. Sparse vectors and rankings that are cut at k hold other
# words then. Mask scores with `tf.where`.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow-cpu==2.20.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import numpy as np
import tensorflow as tf

scores = np.array([-1.0, 2.0, -3.0, 4.0, 5.0], "float32")
mask = np.array([0, 0, 0, 0, 1], "float32")  # four words are left out
masked = tf.constant(scores * mask)
functions = {
    "top_k": lambda x: tf.math.top_k(x, 4).indices,
    "argsort": lambda x: tf.argsort(x, direction="DESCENDING", stable=True),
}
for name, function in functions.items():
    found = [tf.function(function, jit_compile=jit)(masked).numpy().tolist() for jit in (False, True)]
    print(f"tensorflow {tf.__version__} {name}: {found[0]} | {found[1]}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null)
echo "$seen"
test "$seen" = "tensorflow 2.20.0 top_k: [4, 0, 1, 2] | [4, 1, 3, 0]
tensorflow 2.20.0 argsort: [4, 0, 1, 2, 3] | [4, 1, 3, 0, 2]"
