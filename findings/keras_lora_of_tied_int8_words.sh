#!/usr/bin/env bash
# LoRA on a tied word embedding of Keras changes the words that are read and the logits, but after int8 the words alone.
#
# Guess before the run: `ReversibleEmbedding` with tied weights gives the logits h E^T of the matrix E whose rows it embeds, also with
# `enable_lora`, and also when it was quantized before, as one fine-tunes a large model (QLoRA).
# Seen: Keras 3.15.1 on JAX, and alike on TensorFlow 2.20.0. In float32 the logits are those of the changed matrix. With int8 and
# int4 they are those of the matrix without LoRA, to the last bit, while the rows change: input and output are no longer
# tied, and the factors learn from one side. Saving merges them into the matrix, so that the model that is loaded again
# has other logits than the one that was trained.
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

hidden = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
seen = [f"keras {keras.__version__}:"]
for mode in (None, "int8", "int4"):
    keras.utils.set_random_seed(0)
    layer = keras.layers.ReversibleEmbedding(10, 8)
    layer.build((None,))
    if mode:
        layer.quantize(mode)
    layer.enable_lora(2)
    rows, logits = np.array(layer(np.arange(10))), np.array(layer(hidden, reverse=True))
    layer.lora_embeddings_b.assign(np.ones((2, 8)))
    new_rows, new_logits = np.array(layer(np.arange(10))), np.array(layer(hidden, reverse=True))
    changed = [np.max(np.abs(new - old)) > 0.1 for new, old in ((new_rows, rows), (new_logits, logits))]
    seen.append(f"{mode} rows {'changed' if changed[0] else 'same'}, logits {'changed' if changed[1] else 'same'};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=jax "$folder/venv/bin/python" "$folder/program.py" | tail -1)
echo "$seen"
test "$seen" = "keras 3.15.1: None rows changed, logits changed; int8 rows changed, logits same; int4 rows changed, logits same;"
