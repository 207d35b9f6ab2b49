#!/usr/bin/env bash
# KerasHub's BERT computes GELU by tanh, whatever activation the checkpoint that it converts was trained with.
#
# Guess before the run: `BertBackbone.from_preset` of a transformers directory has the outputs of transformers, for each
# `hidden_act`, or refuses an activation or an epsilon that it has not.
# Seen: KerasHub 0.32.0. With `hidden_act="gelu"`, which is what nearly all files on the Hub have (the exact form), outputs differ by
# 0.0007, with "relu" by 0.27 (of values around 1), with `layer_norm_eps=1e-2` by 0.016; with "gelu_new", the form by tanh,
# by 0.000001. Of the configuration only sizes are read; nothing is said.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    tensorflow==2.20.0 tensorflow-text==2.20.1 keras==3.15.1 keras-hub==0.32.0 safetensors==0.8.0 \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import pathlib
import sys

import keras_hub
import numpy as np
import torch
from transformers import BertConfig, BertModel

folder = pathlib.Path(sys.argv[1])
sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
ids = np.array([[2, 5, 6, 7, 3]])
inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
seen = [f"keras_hub {keras_hub.__version__}:"]
for activation in ("gelu_new", "gelu", "relu"):
    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=57, initializer_range=0.5, hidden_act=activation, **sizes)).eval()
    model.save_pretrained(folder / activation)
    backbone = keras_hub.models.BertBackbone.from_preset(str(folder / activation))
    with torch.no_grad():
        expected = model(torch.tensor(ids)).last_hidden_state.numpy()
    difference = np.max(np.abs(np.array(backbone(inputs)["sequence_output"]) - expected))
    size = "below 0.0001" if difference < 1e-4 else "0.0001 to 0.01" if difference < 0.01 else "above 0.1"
    seen.append(f"{activation} {size};")
print(*seen)
PYTHON
seen=$(KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$folder/venv/bin/python" "$folder/program.py" "$folder" | tail -1)
echo "$seen"
test "$seen" = "keras_hub 0.32.0: gelu_new below 0.0001; gelu 0.0001 to 0.01; relu above 0.1;"
