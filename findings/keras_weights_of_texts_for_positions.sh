#!/usr/bin/env bash
# Weights of texts are weights of positions in Keras' losses of tokens where a batch has as many texts as tokens.
#
# Guess before the run: `sample_weight` with a number for each text, which `fit` and `evaluate` ask for ("a flat 1D array
# with the same length as the input samples"), weights the losses of all tokens of a text, as it does for the metrics.
# Seen: Keras 3.15.1 on TensorFlow 2.20.0, and the loss alike on JAX 0.10.2. Of four texts the first has an error of 1 at
# each token and the weight 1, the others have neither. With batches of one text the loss is .25, a quarter of the text's.
# With four texts of four tokens in a batch it is .0625, and "mse" among the weighted metrics is 1: the weights are
# multiplied with losses of [texts, tokens] as they stand, so that they fall on the last axis. All texts count there, with
# their first token only. With five tokens it is an error. A batch of 32 texts of 32 tokens or of 128 of 128
# shows none, and trains on the first tokens. `mean_with_sample_weight` takes [texts, 1] for as many numbers as
# there are texts, and its loss is as many times too large as a text has tokens: 4 here.
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

TEXTS = TOKENS = 4
wrong = np.zeros((TEXTS, TOKENS, 1), "float32")
wrong[0] = 1.0
right = np.zeros_like(wrong)
weights = np.array([1.0, 0.0, 0.0, 0.0], "float32")

model = keras.Sequential([keras.Input((None, 1)), keras.layers.Identity()])
model.compile(loss="mse", weighted_metrics=["mse"])
words = []
for texts in (1, TEXTS):
    values = model.evaluate(
        wrong, right, sample_weight=weights, batch_size=texts, verbose=0, return_dict=True
    )
    words.append(f"batches of {texts}: loss {values['loss']:g}, metric {values['mse']:g};")
loss = keras.losses.MeanSquaredError("mean_with_sample_weight")
words.append(f"mean by weights {float(loss(right, wrong, weights[:, None])):g}")
print(f"keras {keras.__version__}:", *words)
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: batches of 1: loss 0.25, metric 1; batches of 4: loss 0.0625, metric 1; mean by weights 4"
