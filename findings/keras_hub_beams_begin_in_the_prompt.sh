#!/usr/bin/env bash
# What KerasHub's beam search continues a prompt with depends on the shortest prompt of the batch.
#
# Guess before the run: a prompt has the same continuation and the same log-probabilities alone and beside a shorter prompt,
# as with the greedy sampler.
# Seen: KerasHub 0.32.0, two beams. Alone, a prompt of three tokens is continued by a token of probability .45 and then by a
# sure one, which is the likeliest text. Beside a prompt of one token it is continued by the greedy choice, at .55
# and then .25, and the score is .02 instead of .45. Beams begin at the end of the shortest prompt: where another
# prompt still goes on, the beams are given the prompt's tokens, but keep the scores of the tokens that the model would
# have chosen there. They are copies of one text with scores that belong to others, and of two beams one is left.
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

# The probabilities of the token after each: 0 is followed by 1 or 2, 2 by 3 for sure, 1 by four tokens alike.
NEXT = np.array(
    [
        [0.0, 0.55, 0.45, 0.0, 0.0],
        [0.25, 0.0, 0.25, 0.25, 0.25],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [0.35, 0.0, 0.35, 0.2, 0.1],
    ],
    "float32",
)


def model(prompt, cache, index):
    return keras.ops.take(np.log(NEXT + 1e-9), prompt[:, index - 1], axis=0), None, cache


def continued(prompts):
    """Returns the best text for the last prompt, and its probability after it."""
    shortest = min(map(len, prompts))
    length = len(prompts[-1]) + 2
    ids = np.array([prompt + [0] * (length - len(prompt)) for prompt in prompts], "int32")
    mask = np.array([[place < len(prompt) for place in range(length)] for prompt in prompts])
    beams, scores = keras_hub.samplers.BeamSampler(num_beams=2, return_all_beams=True)(
        model,
        keras.ops.convert_to_tensor(ids),
        index=shortest,
        mask=keras.ops.convert_to_tensor(mask),
    )
    text = " ".join(map(str, keras.ops.convert_to_numpy(beams)[-1, 0]))
    return f"{text} ({np.exp(keras.ops.convert_to_numpy(scores)[-1, 0]):.2f})"


prompt = [4, 4, 0]
print(
    f"keras_hub {keras_hub.__version__}: alone {continued([prompt])},",
    f"beside a shorter one {continued([[4], prompt])}",
)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: alone 4 4 0 2 3 (0.45), beside a shorter one 4 4 0 1 2 (0.02)"
