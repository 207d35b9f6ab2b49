#!/usr/bin/env bash
# A word that is 98 % likely is drawn in 56 of 100 cases by keras-transformer, at temperature 1.
#
# Guess before the run: `decode(top_k=3, temperature=1.0)` draws each of the three best words with its probability: .98,
# .01, .01.
# Seen: keras-transformer 0.40.0. The model of the package ends in a softmax, and `decode` takes its probabilities for
# scores: it takes their exponentials once more. Of three words .98, .01 and .01 become .57, .21 and .21, and .4, .3 and
# .3 become .36, .32 and .32: whatever a model says, all words are drawn nearly alike. At temperature .1 the first is
# drawn always and .4 in 57 %: no temperature gives the model's own probabilities. Generated text is as good as random
# while the loss is low.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tf-keras==2.20.1 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    keras-transformer==0.40.0 keras-pos-embd==0.13.0 keras-multi-head==0.29.0 keras-layer-normalization==0.16.0 \
    keras-position-wise-feed-forward==0.8.0 keras-embed-sim==0.10.0 keras-self-attention==0.51.0
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
from keras_transformer import decode, get_model


class Sure:
    """A model that says the same probabilities of words 2, 3 and 4 at each place."""

    def __init__(self, *probabilities):
        self.probabilities = np.array([0.0, 0.0, *probabilities])

    def predict(self, inputs):
        return np.broadcast_to(self.probabilities, (*inputs[1].shape, 5))


def drawn(model, temperature):
    np.random.seed(0)
    draws = decode(model, [1], 1, 0, 0, top_k=3, temperature=temperature, max_len=2001, max_repeat=10**6)[1:]
    return " ".join(f"{np.mean(np.array(draws) == word):.2f}" for word in (2, 3, 4))


model = get_model(token_num=5, embed_dim=8, encoder_num=1, decoder_num=1, head_num=2, hidden_dim=8)
total = model.predict([np.ones((1, 3)), np.ones((1, 3))], verbose=0)[0, 0].sum()
parts = [f"at temperature {t:g} {drawn(m, t)}" for m in (Sure(0.98, 0.01, 0.01), Sure(0.4, 0.3, 0.3)) for t in (1, 0.1)]
version = importlib.metadata.version("keras-transformer")
print(f"keras-transformer {version}: outputs of its model add up to {total:.2f};", ", ".join(parts))
PYTHON
seen=$(TF_USE_LEGACY_KERAS=1 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-transformer 0.40.0: outputs of its model add up to 1.00; at temperature 1 0.56 0.23 0.21, at\
 temperature 0.1 1.00 0.00 0.00, at temperature 1 0.36 0.34 0.30, at temperature 0.1 0.57 0.23 0.20"
