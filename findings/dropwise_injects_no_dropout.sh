#!/usr/bin/env bash
# `inject_dropout` of dropwise injects nothing, and attention has no dropout in its passes: the deviation is 0.
#
# Guess before the run: `DropwisePredictor.inject_dropout(model, p=0.5)` makes the classifier of a model without dropout
# drop half of its inputs, so that 20 passes differ and `std_dev` is above 0, and so does a dropout of attention alone.
# Seen: dropwise 0.2.1, transformers 5.23.0. The injected layer becomes an attribute of the Linear layer, which never
# calls it: one layer with p=.5 is in the model, and all passes are equal. Attention's two layers of p=.5 are set to
# `train` too, but the attention of transformers asks whether it trains itself, which it doesn't: all passes are equal
# again. With dropout in the hidden layers the deviation is 1.53. A std_dev of 0 reads as a model that is sure of all.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==5.23.0 numpy==2.4.6
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    dropwise==0.2.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from dropwise import DropwisePredictor
from transformers import BertConfig, BertForSequenceClassification


def tokenizer(texts, **options):
    """Ids of the letters."""
    length = max(map(len, texts))
    ids = torch.tensor([[2 + ord(letter) % 90 for letter in text] + [0] * (length - len(text)) for text in texts])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def deviation(inject, **options):
    torch.manual_seed(0)
    sizes = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(**sizes, intermediate_size=64, initializer_range=0.5, **options)
    model = BertForSequenceClassification(config)
    if inject:
        DropwisePredictor.inject_dropout(model, p=0.5)
    predictor = DropwisePredictor(model, tokenizer, num_passes=20, use_cuda=False)
    layers = sum(isinstance(module, torch.nn.Dropout) and module.p == 0.5 for module in model.modules())
    result = predictor.predict(["a good film"])[0]
    return f"{layers} layers of p=.5, std {result['std_dev'][0]:.2f}"


none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
attention = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.5}
print(
    f"dropwise {importlib.metadata.version('dropwise')}: without dropout {deviation(False, **none)},"
    f" injected {deviation(True, **none)}; .1 in hidden layers {deviation(False, hidden_dropout_prob=0.1)};"
    f" .5 in attention alone {deviation(False, **attention)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "dropwise 0.2.1: without dropout 0 layers of p=.5, std 0.00, injected 1 layers of p=.5, std 0.00; .1 in\
 hidden layers 0 layers of p=.5, std 1.53; .5 in attention alone 2 layers of p=.5, std 0.00"
