#!/usr/bin/env bash
# In Keras one input without a mask unmasks all: token embeddings that positions are added to are averaged with padding.
#
# Guess before the run: `Concatenate` and `Add` of token embeddings with `mask_zero=True` and of positions or
# features, which have no mask, keep the mask of the tokens: what has no mask has nothing to say about padding.
# Seen: Keras 3.15.1 on JAX 0.10.2. `Add` has no mask if one of its inputs has none, `Concatenate` takes an input
# without one for all valid and joins the masks by "or", and the operator `+` has none either: the mean of two words
# of 1 with four positions of padding, which are 5, is 3.67 instead of 1.00. An LSTM, an attention layer or a loss
# after it reads padding, too. Nothing warns.
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
from keras import layers

ids = np.array([[1, 2, 0, 0, 0, 0]])
features = np.ones((1, 6, 4), "float32")


def pooled(merge, second):
    """The mean of the first unit over the positions, of words 1 and padding 5."""
    tokens = keras.Input((6,), dtype="int32")
    others = keras.Input((6, 4))
    table = np.full((3, 4), 1.0)
    table[0] = 5.0
    embedding = layers.Embedding(3, 4, mask_zero=True, weights=[table])
    words = embedding(tokens)
    merged = words if merge is None else merge([words, second(words, others)])
    model = keras.Model([tokens, others], layers.GlobalAveragePooling1D()(merged))
    return float(np.array(model([ids, features * 0]))[0, 0])


words = []
for name, merge, second in (
    ("alone", None, None),
    ("Concatenate with features", layers.Concatenate(), lambda words, others: others),
    ("Add of features", layers.Add(), lambda words, others: others),
    ("Concatenate with itself", layers.Concatenate(), lambda words, others: words),
    ("+ features", lambda pair: pair[0] + pair[1], lambda words, others: others),
):
    words.append(f"{name} {pooled(merge, second):.2f}")
print(f"keras {keras.__version__}, mean of two words of 1 and four of padding: {', '.join(words)}")
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1, mean of two words of 1 and four of padding: alone 1.00, Concatenate with features 3.67,\
 Add of features 3.67, Concatenate with itself 1.00, + features 3.67"
