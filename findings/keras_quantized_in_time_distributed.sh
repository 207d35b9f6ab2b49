#!/usr/bin/env bash
# A quantized Keras layer in `TimeDistributed` computes with its integers as they stand: outputs are 200 times too large.
#
# Guess before the run: `model.quantize("int8")` changes the outputs of `TimeDistributed(Dense(8))` as little as those
# of `Dense(8)` on the same sequences, and losses that a layer adds are added in the wrapper, too.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, and alike on JAX 0.10.2. Of outputs up to 3 those of the plain layer are off
# by less than .1 in int8, those of the wrapped one by 600; in int4 by less than .5 and by 36. With "float8" the
# wrapped layer is not quantized at all. An `activity_regularizer` counts in the plain layer and not in the wrapped
# one. The wrapper runs the `call` of its layer and not the layer: what Keras does around a call is left out.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 keras==3.15.1 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import numpy as np

inputs = np.random.default_rng(0).normal(size=(4, 5, 8)).astype("float32")
words = [f"keras {keras.__version__}:"]
for is_wrapped in (False, True):
    words.append("wrapped" if is_wrapped else "plain")
    for mode in ("int8", "int4", "float8"):
        keras.utils.set_random_seed(0)
        layer = keras.layers.Dense(8, activity_regularizer=keras.regularizers.L2(1.0))
        if is_wrapped:
            layer = keras.layers.TimeDistributed(layer)
        model = keras.Sequential([keras.Input((5, 8)), layer])
        expected = model.predict(inputs, verbose=0)
        model(inputs)
        losses = len(model.losses)
        model.quantize(mode)
        error = np.max(np.abs(model.predict(inputs, verbose=0) - expected))
        size = "0" if error == 0 else "below 0.5" if error < 0.5 else "above 20"
        words.append(f"{mode} {size},")
    words.append(f"{losses} losses;")
print(*words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: plain int8 below 0.5, int4 below 0.5, float8 below 0.5, 1 losses; wrapped int8 above 20, int4 above 20, float8 0, 0 losses;"
