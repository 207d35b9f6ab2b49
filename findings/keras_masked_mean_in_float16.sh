#!/usr/bin/env bash
# Under "mixed_float16" Keras' mean of 450 tokens of 150 is infinite if they are masked, and 150 if they stand alone.
#
# Guess before the run: GlobalAveragePooling1D pools a padded text with a mask to what it is alone, to the three digits
# of float16; a mean can't overflow where no value is near the limit.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, 768 units. With a mask the layer adds all tokens in float16 and divides
# afterwards, so that 450 tokens of 150, whose sum is above 65,504, are infinite, and 900 tokens of 0.3 have a mean of
# .305. Without a mask the mean is computed in float32. On JAX 0.10.2 and torch 2.13.0 150 is infinite too. A unit that
# is as large in all tokens is no finite number in the pooled text, if this is long enough.
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

keras.config.set_dtype_policy("mixed_float16")
layer = keras.layers.GlobalAveragePooling1D()
words = []
for value, tokens in ((0.3, 900), (20.0, 450), (150.0, 450)):
    states = np.full((1, tokens + 50, 768), value, "float32")
    mask = np.arange(tokens + 50)[None] < tokens
    masked = float(np.array(layer(states, mask=mask), "float32")[0, 0])
    alone = float(np.array(layer(states[:, :tokens]), "float32")[0, 0])
    words.append(f"{tokens} tokens of {value:g}: {alone:.3f} alone, {masked:.3f} padded and masked")
print(f"keras {keras.__version__} on {keras.config.backend()}: {'; '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1 on tensorflow: 900 tokens of 0.3: 0.300 alone, 0.305 padded and masked; 450 tokens of\
 20: 20.000 alone, 20.000 padded and masked; 450 tokens of 150: 150.000 alone, inf padded and masked"
