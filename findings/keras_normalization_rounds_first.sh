#!/usr/bin/env bash
# Under "mixed_float16" Keras' Normalization makes all lengths of 1,000 to 2,000 words 0, and in bfloat16 34 years 5.
#
# Guess before the run: Under a mixed policy `Normalization` subtracts the mean in float32 and rounds the result, as
# LayerNormalization does: a number beside a text keeps three digits of its deviation.
# Seen: Keras 3.15.1 on JAX 0.10.2. Inputs, mean and deviation are cast to the compute dtype first, and the variance,
# 83,325 here, is infinite in float16: all outputs are 0, without a warning. In bfloat16 the years 1990 to 2023 are
# five numbers, for it has eight bits. Of lengths in steps of 10 all are kept there.
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

lengths = np.arange(1000, 2000, 10, dtype="float32")[:, None]
years = np.arange(1990, 2024, dtype="float32")[:, None]
words = []
for policy in ("float32", "mixed_float16", "mixed_bfloat16"):
    keras.config.set_dtype_policy(policy)
    parts = []
    for values in (lengths, years):
        layer = keras.layers.Normalization()
        layer.adapt(values)
        outputs = keras.ops.convert_to_numpy(layer(values)).astype("float32")
        parts.append(f"{len(np.unique(outputs))} from {outputs.min():.2f} to {outputs.max():.2f}")
    words.append(f"{policy} {' and '.join(parts)}")
print(f"keras {keras.__version__}, different outputs of 100 lengths and 34 years: {'; '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, different outputs of 100 lengths and 34 years: float32 100 from -1.71 to 1.71 and 34\
 from -1.68 to 1.68; mixed_float16 1 from 0.00 to 0.00 and 34 from -1.63 to 1.73; mixed_bfloat16 100 from -1.72 to\
 1.72 and 5 from -1.63 to 1.63"
