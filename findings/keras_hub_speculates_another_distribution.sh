#!/usr/bin/env bash
# Speculative decoding of KerasHub draws from another distribution than the large model's, and takes the temperature away.
#
# Guess before the run: `SpeculativeSampler(base_sampler=RandomSampler())` draws the tokens that the large model alone would
# draw, with their probabilities, as the paper that it cites proves (Leviathan et al. 2022); temperature and k of the
# base sampler count, as its documentation says.
# Seen: KerasHub 0.32.0. The large model gives three tokens the probabilities .5, .3 and .2, a small one .6, .3 and .1.
# Of 2,000 tokens RandomSampler draws 51, 29 and 20 %. Speculative decoding draws 80, 3 and 17 %. The small model always
# proposes its likeliest token, but the rule that accepts proposals and the one that replaces them are those for
# tokens drawn from its distribution. `TopKSampler(k=1)` as the base gives the same: only its temperature is read, and that
# is replaced by the default, so that one of .1 is 1 afterwards.
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
from keras_hub.samplers import RandomSampler, SpeculativeSampler, TopKSampler

LENGTH = 2000
keras.utils.set_random_seed(0)


def model(*probabilities):
    logits = np.log(np.array([probabilities], "float32"))
    return lambda prompt, cache, index: (keras.ops.convert_to_tensor(logits), None, cache)


large, small = model(0.5, 0.3, 0.2), model(0.6, 0.3, 0.1)


def drawn(sampler, **arguments):
    prompt = keras.ops.zeros((1, LENGTH + 1), "int32")
    tokens = sampler(large, prompt, index=1, **arguments)
    counts = np.bincount(keras.ops.convert_to_numpy(tokens)[0, 1:], minlength=3)
    return " ".join(f"{count / LENGTH:.2f}" for count in counts)


words = [f"large model {drawn(RandomSampler(seed=1))};"]
base = RandomSampler(seed=1, temperature=0.1)
for name, sampler in (("speculative", RandomSampler(seed=1)), ("of top 1", TopKSampler(k=1, seed=1))):
    words.append(f"{name} {drawn(SpeculativeSampler(base_sampler=sampler, seed=2), draft_next=small)};")
SpeculativeSampler(base_sampler=base)
print(f"keras_hub {keras_hub.__version__}:", *words, f"temperature {base.temperature:g}")
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: large model 0.51 0.29 0.20; speculative 0.80 0.03 0.17; of top 1 0.80 0.03 0.17; temperature 1"
