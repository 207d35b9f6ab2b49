#!/usr/bin/env bash
# In a batch with a shorter prompt KerasHub's speculative decoding writes over the prompts of the others.
#
# Guess before the run: prompts stay as they are in a batch of several lengths, as with the greedy sampler of the
# same library; "True at prompt positions" is what its `mask` says.
# Seen: KerasHub 0.32.0. With two prompts, "1" and "1 2 2 2", and a model whose likeliest token is 1, the greedy
# sampler continues the second to "1 2 2 2 1 1". The speculative sampler returns "1 1 1 1 1 1": the large model
# decides about the tokens of the prompt, too, which it rejects as it does proposals of the small model, and what replaces them
# is written without a look at the mask. The prompt alone in its batch is kept.
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
from keras_hub.samplers import GreedySampler, SpeculativeSampler

LOGITS = np.log(np.array([0.1, 0.8, 0.1], "float32"))


def model(prompt, cache, index):
    return keras.ops.broadcast_to(LOGITS, (keras.ops.shape(prompt)[0], 3)), None, cache


def continued(sampler, prompts, index, **arguments):
    prompts = np.array(prompts, "int32")
    mask = keras.ops.convert_to_tensor(prompts > 0)
    tokens = sampler(model, keras.ops.convert_to_tensor(prompts), index=index, mask=mask, **arguments)
    return " ".join(map(str, keras.ops.convert_to_numpy(tokens)[-1]))


short, long = [1, 0, 0, 0, 0, 0], [1, 2, 2, 2, 0, 0]
speculative = SpeculativeSampler(num_speculative_tokens=2)
print(
    f"keras_hub {keras_hub.__version__}:",
    f"greedy {continued(GreedySampler(), [short, long], 1)};",
    f"speculative {continued(speculative, [short, long], 1, draft_next=model)},",
    f"alone {continued(speculative, [long], 4, draft_next=model)}",
)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: greedy 1 2 2 2 1 1; speculative 1 1 1 1 1 1, alone 1 2 2 2 1 1"
