#!/usr/bin/env bash
# `tf.random.stateless_uniform` with a seed and alg="philox" draws other numbers under `jit_compile` on the same CPU.
#
# Guess before the run: the algorithm is named, the seed and the device are the same: so are the numbers, which are
# documented to be the same on CPUs and GPUs.
# Seen: tensorflow 2.20.0. In eager mode and in a graph they are the same, under jit_compile uniform and normal numbers
# and masks of dropout are others, while integers are the same. Compiled, two calls agree with each other. A run that
# goes on compiled after a start that was not has other dropout masks for the same seeds, and a test that compares both
# fails although nothing is wrong.
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

seed = tf.constant([1, 2])
draws = {
    "uniform": lambda s: tf.random.stateless_uniform([64], s, alg="philox"),
    "normal": lambda s: tf.random.stateless_normal([64], s, alg="philox"),
    "integers": lambda s: tf.random.stateless_uniform([64], s, 0, 1000, "int32", alg="philox"),
    "dropout": lambda s: tf.nn.experimental.stateless_dropout(tf.ones(64), 0.5, s, rng_alg="philox"),
}
results = []
for name, draw in draws.items():
    eager = draw(seed).numpy()
    graph = tf.function(draw, autograph=False)(seed).numpy()
    compiled = tf.function(draw, jit_compile=True, autograph=False)
    first, second = compiled(seed).numpy(), compiled(seed).numpy()
    same = [np.array_equal(eager, graph), np.array_equal(eager, first), np.array_equal(first, second)]
    results.append(f"{name} {' '.join(map(str, same))}")
print(
    f"tensorflow {tf.__version__}, eager as a graph, eager as compiled, compiled twice:",
    ", ".join(results),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "tensorflow 2.20.0, eager as a graph, eager as compiled, compiled twice: uniform True False True, \
normal True False True, integers True True True, dropout True False True"
