#!/usr/bin/env bash
# Scion of heavyball replaces all weights in its first step, at any rate: what a pre-trained BERT has learned is gone.
#
# Guess before the run: a step of `Scion` at a learning rate of .000001 leaves the weights of a loaded BERT as they
# are, to a few millionths, as AdamW and Muon of the same package do.
# Seen: heavyball 3.2.1. The first step sets each matrix anew, to one whose singular values are all alike, before it
# takes the step; neither the page nor the call says so. The cosine of the new weights to the old ones is .0, of a
# kernel as of the word embeddings, rows of words that are in no batch included, and the states of a BERT have a cosine
# of .2 to what they were. With Muon and AdamW of the same package all are 1.0.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    heavyball==3.2.1 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import logging

import heavyball
import torch
from transformers import BertConfig, BertModel

logging.disable(logging.CRITICAL)
heavyball.utils.compile_mode = None
sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)
cosine = torch.nn.functional.cosine_similarity
words = []
for kind in (heavyball.Scion, heavyball.Muon, heavyball.AdamW):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.2), add_pooling_layer=False).eval()
    before = model(input_ids=ids).last_hidden_state
    start = {name: one.detach().clone() for name, one in model.named_parameters()}
    optimizer = kind(model.parameters(), lr=1e-6)
    before.square().sum().backward()
    optimizer.step()
    after = model(input_ids=ids).last_hidden_state
    names = ("encoder.layer.0.intermediate.dense.weight", "embeddings.word_embeddings.weight")
    new = dict(model.named_parameters())
    values = [cosine(new[name].flatten(), start[name].flatten(), dim=0).abs() for name in names]
    states = cosine(before.flatten(), after.flatten(), dim=0).abs()
    words.append(f"{kind.__name__} {values[0]:.1f} {values[1]:.1f}, states {states:.1f}")
version = importlib.metadata.version("heavyball")
print(f"heavyball {version}, cosines of weights and states after a step of .000001: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "heavyball 3.2.1, cosines of weights and states after a step of .000001: Scion 0.0 0.0, states 0.2;\
 Muon 1.0 1.0, states 1.0; AdamW 1.0 1.0, states 1.0"
