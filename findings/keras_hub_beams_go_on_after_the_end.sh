#!/usr/bin/env bash
# The beam search of KerasHub scores what a model says after the end of a text, so that unlikely texts win that never end.
#
# Guess before the run: of a text that ends with a probability of .60 and one that goes on with .40, beam search returns
# the first, whatever the length to fill is: a text that has ended keeps its probability.
# Seen: KerasHub 0.32.0. With room for two tokens it returns the text that ends. With room for three or more it
# returns the other: an ended beam is continued, and each token behind its end multiplies its probability by what
# the model says there, at which it was not trained (.20 here), down to .12. Generation goes on until all beams
# have ended, so that every beam that does not end costs those that have.
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

START, END, LONG, SHORT = range(4)
# The probabilities of the token after each. Nothing is known about what comes after the end.
NEXT = np.array(
    [
        [0.0, 0.0, 0.4, 0.6],
        [0.25, 0.25, 0.25, 0.25],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
    ],
    "float32",
)


def model(prompt, cache, index):
    return keras.ops.take(np.log(NEXT + 1e-9), prompt[:, index - 1], axis=0), None, cache


print(f"keras_hub {keras_hub.__version__}:", end="")
for room in (2, 3, 4):
    sampler = keras_hub.samplers.BeamSampler(num_beams=2, return_all_beams=True)
    prompt = np.array([[START] + [0] * room], "int32")
    mask = np.arange(room + 1)[None] == 0
    beams, scores = sampler(
        model,
        keras.ops.convert_to_tensor(prompt),
        index=1,
        mask=keras.ops.convert_to_tensor(mask),
        stop_token_ids=[END],
    )
    best = keras.ops.convert_to_numpy(beams)[0, 0, 1:]
    name = "ended" if END in best else "endless"
    probabilities = np.exp(keras.ops.convert_to_numpy(scores)[0])
    print(f" room for {room}: {name}, {probabilities[0]:.2f} and {probabilities[1]:.2f};", end="")
print()
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: room for 2: ended, 0.60 and 0.40; room for 3: endless, 0.40 and 0.15; room for 4: endless, 0.40 and 0.09;"
