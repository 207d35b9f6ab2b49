#!/usr/bin/env bash
# Keras' attention predicts other outputs for positions of left padding if it is asked for its scores, or has a dropout rate.
#
# Guess before the run: `return_attention_scores=True` adds the scores to the outputs and changes none of them, and a
# dropout rate changes nothing in a prediction.
# Seen: Keras 3.15.1 on JAX 0.10.2; alike on TensorFlow 2.20.0 and PyTorch 2.13.0. MultiHeadAttention with a causal mask on
# five positions whose first two are padding: at these two, where nothing may be attended to, the layer returns the mean
# of all values, those of padding and of what follows included. With return_attention_scores=True, or made with
# dropout=0.1, it returns zeros (the output's bias) there. Other positions are equal to 1e-5. A model that is pooled
# without its mask, or rows that only fill a batch, depend on it.
# Two codes compute the layer: the first one replaces scores by the lowest number, the other one sets the probabilities to
# zero afterwards. This project has one, which attends everywhere (modeling/attention.py).
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

x = np.random.default_rng(0).normal(size=(1, 5, 8)).astype("float32")
arguments = {"key_mask": np.array([[False, False, True, True, True]]), "use_causal_mask": True}
plain, with_dropout = (keras.layers.MultiHeadAttention(2, 4, dropout=rate) for rate in (0.0, 0.1))
outputs = plain(x, x, **arguments)
with_dropout(x, x)
with_dropout.set_weights([value for value in plain.get_weights()])
names = {
    "plain": outputs,
    "scores": plain(x, x, return_attention_scores=True, **arguments)[0],
    "dropout": with_dropout(x, x, **arguments),
}
seen = [f"keras {keras.__version__}:"]
for name, values in names.items():
    values = keras.ops.convert_to_numpy(values)[0]
    same = np.abs(values - keras.ops.convert_to_numpy(outputs)[0]).max(axis=1) < 1e-5
    seen.append(f"{name} equal at {np.flatnonzero(same).tolist()}, zeros at")
    seen.append(f"{np.flatnonzero(np.abs(values).max(axis=1) == 0).tolist()};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: plain equal at [0, 1, 2, 3, 4], zeros at []; scores equal at [2, 3, 4], zeros at [0, 1]; dropout equal at [2, 3, 4], zeros at [0, 1];"
