#!/usr/bin/env bash
# "orthogonal" kernels of Keras' MultiHeadAttention are too small by the root of the heads, and not orthogonal.
#
# Guess before the run: `kernel_initializer="orthogonal"` makes the query's kernel, 768 units to 12 heads of 64, an
# orthogonal matrix as that of a Dense from 768 to 768: vectors keep their lengths.
# Seen: Keras 3.15.1 on JAX 0.10.2. The kernel [768, 12, 64] is made of a matrix of 9,216 rows and 64 columns that is
# orthogonal, and is none where it multiplies: vectors are .29 times as long after it, scores of query and key .08
# times as large, and singular values reach from 0 to .57. With one head, and in a Dense, it is right. Glorot's
# initializer knows the axes of the layer, and gives 1.00 with any number of heads.
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

x = np.random.default_rng(0).normal(size=(100, 768)).astype("float32")
words = []
for initializer in ("orthogonal", "glorot_uniform"):
    keras.utils.set_random_seed(0)
    kernels = {}
    for heads in (1, 12):
        layer = keras.layers.MultiHeadAttention(heads, 768 // heads, kernel_initializer=initializer)
        layer.build((None, 8, 768), (None, 8, 768))
        kernels[f"{heads} heads"] = keras.ops.convert_to_numpy(layer.query_dense.kernel).reshape(768, 768)
    dense = keras.layers.Dense(768, kernel_initializer=initializer)
    dense.build((None, 768))
    kernels["Dense"] = keras.ops.convert_to_numpy(dense.kernel)
    parts = []
    for name, kernel in kernels.items():
        values = np.linalg.svd(kernel, compute_uv=False)
        lengths = np.linalg.norm(x @ kernel, axis=1) / np.linalg.norm(x, axis=1)
        parts.append(f"{name} {lengths.mean():.2f} ({values.min():.2f} to {values.max():.2f})")
    words.append(f"{initializer} {', '.join(parts)}")
print(f"keras {keras.__version__}, lengths after the query (singular values): {'; '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, lengths after the query (singular values): orthogonal 1 heads 1.00 (1.00 to 1.00), 12\
 heads 0.29 (0.00 to 0.57), Dense 1.00 (1.00 to 1.00); glorot_uniform 1 heads 1.00 (0.00 to 1.99), 12 heads 1.00\
 (0.00 to 2.00), Dense 1.00 (0.00 to 1.98)"
