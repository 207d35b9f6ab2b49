#!/usr/bin/env bash
# seqio's converter for BERT gives a fifth of the tokens that BERT predicts no loss: those which are not [MASK].
#
# Guess before the run: EncoderFeatureConverter, "for encoder-only architecture such as BERT", takes the loss "just as
# in Masked Language Modeling objective": of 15 % of the tokens, of which 80 % are read as [MASK], 10 % as another
# token and 10 % as themselves.
# Seen: seqio 0.0.20. The positions of the loss are where the input is [MASK]. Tokens that were replaced by another one
# differ from their targets and have weight 0, and so have those that were kept; the features have no place to say
# otherwise. A model that learns from them sees replaced words, and never has to doubt one.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    seqio==0.0.20 tensorflow==2.20.0 tensorflow-text==2.20.1 protobuf==7.36.2 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import numpy as np
import seqio
import tensorflow as tf

CLS, MASK = 101, 103
random = np.random.default_rng(0)
targets = random.integers(1000, 30000, (200, 128))
targets[:, 0] = CLS
predicted = random.random(targets.shape) < 0.15
predicted[:, 0] = False
kind = random.random(targets.shape)
inputs = np.where(predicted & (kind < 0.8), MASK, targets)
replaced = predicted & (kind >= 0.9)
inputs = np.where(replaced, random.integers(1000, 30000, targets.shape), inputs)

rows = tf.data.Dataset.from_tensor_slices({"inputs": inputs.astype("int32"), "targets": targets.astype("int32")})
converter = seqio.EncoderFeatureConverter(mask_id=MASK, pack=False)
converted = list(converter(rows, {"inputs": 128, "targets": 128}).as_numpy_iterator())
weights = np.stack([row["encoder_loss_weights"] for row in converted])
assert (np.stack([row["encoder_input_tokens"] for row in converted]) == inputs).all()
groups = {"[MASK]": inputs == MASK, "replaced": replaced, "kept": predicted & (kind >= 0.8) & ~replaced}
print(
    f"seqio {importlib.metadata.version('seqio')}, share of predicted tokens and their weight:",
    ", ".join(
        f"{name} {places.sum() / predicted.sum():.0%} {weights[places].mean():.0f}"
        for name, places in groups.items()
    ),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "seqio 0.0.20, share of predicted tokens and their weight: [MASK] 80% 1, replaced 10% 0, kept 10% 0"
