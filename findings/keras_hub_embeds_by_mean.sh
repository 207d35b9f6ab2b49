#!/usr/bin/env bash
# KerasHub takes the mean for every pooling that sentence-transformers 6 writes: [CLS], maximum, weighted, last token.
#
# Guess before the run: `BertTextEmbedder.from_preset` of a directory that `SentenceTransformer.save` wrote gives its vectors:
# the converter reads modules.json and 1_Pooling/config.json, and knows [CLS], maximum and mean.
# Seen: KerasHub 0.32.0 with sentence-transformers 6.2.0. With the mean the largest difference is 0.0004 (of values around 1), with all
# others it is between 0.2 and 6. Version 6 writes `"pooling_mode": "cls"`; KerasHub looks for the keys of versions before,
# `pooling_mode_cls_token`, and takes the mean where they are missing, as it does for poolings that it has not.
# The vocab.txt is added here: version 6 writes tokenizer.json alone, KerasHub reads no other file.
# This project reads both spellings, and refuses what it has not (docs/checkpoints.md).
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 safetensors==0.8.0 \
    sentence-transformers==6.2.0 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import pathlib
import sys

import keras_hub
import numpy as np
import sentence_transformers
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizer

torch.manual_seed(0)
folder = pathlib.Path(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
vocabulary = "\n".join(words) + "\n"
(folder / "vocab.txt").write_text(vocabulary)
sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
plain = folder / "plain"
BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(plain)
BertModel(BertConfig(vocab_size=len(words), initializer_range=0.5, **sizes)).save_pretrained(plain)
texts = ["a b c", "d", "e f g h a"]
seen = [f"keras_hub {keras_hub.__version__}, sentence-transformers {sentence_transformers.__version__}:"]
for mode in ("mean", "cls", "max", "weightedmean", "lasttoken"):
    model = SentenceTransformer(modules=[Transformer(str(plain)), Pooling(16, pooling_mode=mode)], device="cpu")
    path = folder / mode
    model.save(str(path))
    (path / "vocab.txt").write_text(vocabulary)
    embedder = keras_hub.models.BertTextEmbedder.from_preset(str(path))
    difference = np.max(np.abs(embedder.predict(texts, verbose=0) - model.encode(texts)))
    seen.append(f"{mode} {'equal' if difference < 0.01 else 'different'}")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0, sentence-transformers 6.2.0: mean equal cls different max different weightedmean different lasttoken different"
