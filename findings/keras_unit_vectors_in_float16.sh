#!/usr/bin/env bash
# Under "mixed_float16" Keras normalizes a vector of length 500 to zero, a short one to infinity and a zero vector to NaN.
#
# Guess before the run: `UnitNormalization`, whose epsilon is 1e-12, makes vectors of length 1, and of a zero vector a
# zero one, under every policy; the cosine of a vector with itself is 1.
# Seen: Keras 3.15.1 on JAX 0.10.2, and alike on TensorFlow 2.20.0. In float32 and bfloat16 it does. In float16 the
# squares of (300, 400) overflow, so that the vector becomes (0, 0); those of (1e-4, 1e-4) are zero, and so is the square
# of epsilon: it becomes (inf, inf), and (0, 0), the vector of padding, becomes NaN. `Dot(normalize=True)` says that a
# sentence's vector (300, 400) has a similarity of 0 with itself. LayerNormalization and RMSNormalization compute
# in float32 under this policy.
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

vectors = np.array([[3.0, 4.0], [300.0, 400.0], [1e-4, 1e-4], [0.0, 0.0]], "float32")
words = [f"keras {keras.__version__}:"]
for policy in ("float32", "mixed_bfloat16", "mixed_float16"):
    unit = keras.layers.UnitNormalization(dtype=policy)(vectors)
    unit = keras.ops.convert_to_numpy(keras.ops.cast(unit, "float32"))
    lengths = " ".join(f"{length:.1f}" for length in np.sqrt(np.sum(unit**2, axis=-1)))
    cosine = keras.layers.Dot(axes=-1, normalize=True, dtype=policy)([vectors[1:2], vectors[1:2]])
    words.append(f"{policy} {lengths}, cosine {float(keras.ops.cast(cosine, 'float32')[0, 0]):.1f};")
print(*words)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: float32 1.0 1.0 1.0 0.0, cosine 1.0; mixed_bfloat16 1.0 1.0 1.0 0.0, cosine 1.0; mixed_float16 1.0 0.0 inf nan, cosine 0.0;"
