#!/usr/bin/env bash
# RTN of Intel's Neural Compressor leaves a masked LM's word embeddings as bare integers: the output layer shares them.
#
# Guess before the run: `convert(prepare(model, RTNConfig(bits=8)))` of a BertForMaskedLM is 1 % off, as each of its linear
# layers is, and leaves the word embeddings, which are no linear layer, alone.
# Seen: Neural Compressor 3.10, transformers 5.23.0, torch 2.13.0. Each of the 14 linear layers is within 1 % of what it
# was. But the vectors of words, which the last of them shares, are the integers from -128 to 127 without their scale:
# the weights are quantized in place. The logits have nothing to do with the model's, without a word, though
# `quant_lm_head` is off by default. With a table of its own (`tie_word_embeddings=False`) all is as guessed; HQQ of the
# same package, which copies the weights, is right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    neural-compressor==3.10 prettytable==3.18.0 py-cpuinfo==9.0.0 psutil==7.2.2 pydantic==2.14.3 accelerate==1.15.0 \
    transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata

import torch
from neural_compressor.torch.quantization import HQQConfig, RTNConfig, convert, prepare
from transformers import BertConfig, BertForMaskedLM

ids = torch.randint(5, 128, (16, 16), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def compare(config, tied):
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=128,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=128,
            initializer_range=0.1,
            tie_word_embeddings=tied,
        )
    ).eval()
    before = model(input_ids=ids).logits
    words = model.bert.embeddings.word_embeddings.weight.clone()
    linear = {name: layer.weight.clone() for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)}
    model = convert(prepare(model, config))
    worst = 0.0
    for name, weight in linear.items():
        layer = model.get_submodule(name)
        after = layer(torch.eye(weight.shape[1])) - (0 if layer.bias is None else layer.bias)
        worst = max(worst, ((after.T - weight).norm() / weight.norm()).item())
    table = model.bert.embeddings.word_embeddings.weight
    kept = "kept" if torch.allclose(table.float(), words, atol=0.01) else f"up to {table.abs().max().item():.0f}"
    off = (model(input_ids=ids).logits - before).norm() / before.norm()
    return f"linear layers {worst:.0%}, words {kept}, logits {off:.0%}"


print(
    f"Neural Compressor {importlib.metadata.version('neural-compressor')}:",
    f"RTN {compare(RTNConfig(bits=8), True)}; not tied {compare(RTNConfig(bits=8), False)};",
    f"HQQ {compare(HQQConfig(bits=8), True)}",
)
PYTHON
# The package leaves a folder where it runs.
seen=$(cd "$folder" && venv/bin/python program.py 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "Neural Compressor 3.10: RTN linear layers 1%, words up to 127, logits 99%;\
 not tied linear layers 1%, words kept, logits 1%; HQQ linear layers 1%, words kept, logits 1%"
