#!/usr/bin/env bash
# `weight_decay` of bert-squeeze does nothing: AdamW decays no weight, and "bertadam" decays all by .01, LayerNorms too.
#
# Guess before the run: Kernels decay by the `weight_decay` of the configuration, biases and LayerNorms do not, and
# "bertadam" warms the learning rate up over the share of steps that `warmup_ratio` says.
# Seen: bert-squeeze 0.1.1 with transformers 4.41.2. The groups of weights say `weight_decay_rate`, which is no option
# of these optimizers: the decay is the default of each, 0 in transformers' AdamW and .01 in "bertadam", for both
# groups. With a `weight_decay` of .5, gradients of 0 and 10 steps of .1 the kernels keep their length in AdamW; they
# and the LayerNorms lose 1 % in "bertadam". `warmup_ratio` is handed on without a number of steps, so that the first
# step is as large as the last.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    torch==2.13.0 transformers==4.41.2 numpy==1.26.4 lightning==2.5.0 omegaconf==2.3.0 overrides==6.5.0 \
    tabulate==0.10.0 seaborn==0.12.2 matplotlib==3.7.5 scipy==1.17.1 scikit-learn==1.9.1
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
    bert-squeeze==0.1.1
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys

import torch
from bert_squeeze.models import LtCustomBert
from omegaconf import OmegaConf
from transformers import BertConfig, BertModel

size = dict(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
BertModel(BertConfig(**size)).save_pretrained(sys.argv[1])
words = []
for name in ("adamw", "bertadam"):
    torch.manual_seed(0)
    config = dict(logging_steps=10, accumulation_steps=1, optimizer=name, learning_rates=[0.1], adam_eps=1e-8)
    config |= dict(lr_scheduler=False, weight_decay=0.5, discriminative_learning=False, warmup_ratio=0.1)
    model = LtCustomBert(OmegaConf.create(config), num_labels=2, pretrained_model=sys.argv[1])
    (optimizer,), _ = model.configure_optimizers()
    layer = model.encoder.encoder.layer[0]
    watched = (layer.attention.self.query.weight, layer.output.LayerNorm.weight)
    before = [weight.norm().item() for weight in watched]
    for _ in range(10):
        for weight in model.parameters():
            weight.grad = torch.zeros_like(weight)
        optimizer.step()
    after = [weight.norm().item() / length for weight, length in zip(watched, before)]
    decays = [group.get("weight_decay") for group in optimizer.param_groups]
    words.append(f"{name} decays {decays}, kernel {after[0]:.3f}, LayerNorm {after[1]:.3f}")
print(
    f"bert-squeeze {importlib.metadata.version('bert-squeeze')}, .5 asked for: {'; '.join(words)};",
    f"t_total of the warmup {optimizer.param_groups[0]['t_total']}",
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "bert-squeeze 0.1.1, .5 asked for: adamw decays [0.0, 0.0], kernel 1.000, LayerNorm 1.000; bertadam\
 decays [0.01, 0.01], kernel 0.990, LayerNorm 0.990; t_total of the warmup -1"
