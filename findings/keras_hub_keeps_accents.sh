#!/usr/bin/env bash
# The BERT tokenizer of KerasHub lower-cases and keeps accents: with an uncased vocabulary "café" is [UNK].
#
# Guess before the run: `BertTokenizer(vocabulary, lowercase=True)` prepares text as the uncased models of
# the paper expect it, which have no accents; `lower_case=True` of tensorflow_text does so.
# Seen: KerasHub 0.32.0 on TensorFlow 2.20.0. Of the words "the café of zoë" it finds "the" and "of" alone;
# tensorflow_text 2.20.1, and KerasHub with strip_accents=True, find all four. `lowercase` and
# `strip_accents` are two settings there, and the second is off. Hindi, Hebrew and Arabic with vowel signs,
# Korean and Greek become [UNK] likewise.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import keras_hub
import numpy as np
import tensorflow as tf
import tensorflow_text

vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "of", "cafe", "zoe"]
path = f"{sys.argv[1]}/vocab.txt"
with open(path, "w") as file:
    file.write("\n".join(vocabulary))
text = "The café of Zoë"
found = [tensorflow_text.BertTokenizer(path, lower_case=True, token_out_type=tf.int32).tokenize([text]).flat_values]
for settings in ({}, {"strip_accents": True}):
    tokenizer = keras_hub.tokenizers.BertTokenizer(vocabulary=vocabulary, lowercase=True, **settings)
    found.append(tokenizer(text))
words = [" ".join(vocabulary[id] for id in np.asarray(ids)) for ids in found]
print(f"keras-hub {keras_hub.__version__}:", " | ".join(words))
PYTHON
seen=$(TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" 2>/dev/null | tail -1)
echo "$seen"
test "$seen" = "keras-hub 0.32.0: the cafe of zoe | the [UNK] of [UNK] | the cafe of zoe"
