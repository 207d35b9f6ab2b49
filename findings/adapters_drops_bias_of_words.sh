#!/usr/bin/env bash
# AutoAdapterModel of the package adapters loads a BERT for masked LM without the bias of its words, and says nothing.
#
# Guess before the run: it converts the heads of transformers' own classes, as its documentation says, so that the
# logits are those of BertForMaskedLM; they are for a classifier.
# Seen: adapters 1.3.0 with transformers 4.57.6. `save_pretrained` writes the bias once, as `cls.predictions.bias`;
# the conversion looks for `cls.predictions.decoder.bias`, which is tied to it and not written, and the head keeps
# zeros. Every logit misses the bias of its word, which is how frequent a word is in a trained model: another word wins.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    adapters==1.3.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import adapters
import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
config = BertConfig(**sizes, intermediate_size=64, initializer_range=0.3)
ids = torch.arange(5, 37).reshape(4, 8)


def load(kind):
    torch.manual_seed(0)
    model = kind(config).eval()
    with torch.no_grad():  # as trained
        bias = model.cls.predictions.bias if kind is BertForMaskedLM else model.classifier.bias
        bias.add_(torch.linspace(-3, 3, len(bias)))
        model.save_pretrained(sys.argv[1])
        loaded = adapters.AutoAdapterModel.from_pretrained(sys.argv[1]).eval()
        right, found = model(ids).logits, loaded(ids).logits
    missing = right - found
    if not missing.abs().max() > 1e-4:
        return "equal"
    all_bias = "the bias" if torch.allclose(missing, bias.expand_as(missing), atol=1e-4) else "something else"
    same = (right.argmax(-1) == found.argmax(-1)).sum()
    return f"misses {all_bias}, the best word is the same at {same} of {ids.numel()} positions"


print(
    f"adapters {importlib.metadata.version('adapters')}:",
    f"classifier {load(BertForSequenceClassification)}; masked LM {load(BertForMaskedLM)}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0: classifier equal; masked LM misses the bias,\
 the best word is the same at 20 of 32 positions"
