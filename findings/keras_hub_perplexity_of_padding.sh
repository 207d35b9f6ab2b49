#!/usr/bin/env bash
# The perplexity that KerasHub reports in `fit` is too low by the padding: of five words alike it is 1.83 instead of 5.
#
# Guess before the run: where a model marks padding, by `Embedding(mask_zero=True)`, `keras_hub.metrics.Perplexity()` leaves
# it out, or counts it with its words; for a model that says 1/5 of all five words both are 5.
# Seen: KerasHub 0.32.0. It is 5.00 without a mask and 1.83 with one, where 3 of 8 tokens are text: the sum of the losses
# leaves masked tokens out, as Keras' losses do, and is divided by the number of all tokens. The loss that Keras
# reports beside it is log 5 in both. With `mask_token_id=0` it is 5.00. In bfloat16, which its `dtype` may be, it is
# that of other words: ids are rounded to 8 bits, and a model that is sure of word 2049 and right has 4.8e8.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import keras
import keras_hub
import numpy as np

from keras_hub.metrics import Perplexity

ids = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
words = []
for mask_zero in (False, True):
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(5, 8, mask_zero=mask_zero),
            keras.layers.Dense(5, "softmax", kernel_initializer="zeros"),
        ]
    )
    model.compile(
        loss="sparse_categorical_crossentropy",
        metrics=[Perplexity(name="all"), Perplexity(mask_token_id=0, name="text")],
    )
    values = model.evaluate(ids, ids, verbose=0, return_dict=True)
    loss = np.exp(values["loss"])
    name = "with" if mask_zero else "without"
    words.append(f"{name} a mask {values['all']:.2f} {values['text']:.2f} {loss:.2f};")
logits = np.zeros((1, 1, 3000), "float32")
logits[0, 0, 2049] = 20.0
for dtype in ("float32", "bfloat16"):
    metric = Perplexity(from_logits=True, dtype=dtype)
    metric.update_state(np.array([[2049]]), logits)
    words.append(f"{dtype} {float(metric.result()):.1e}")
print(f"keras_hub {keras_hub.__version__}:", *words)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: without a mask 5.00 5.00 5.00; with a mask 1.83 5.00 5.00; float32 1.0e+00 bfloat16 4.8e+08"
