#!/usr/bin/env bash
# An adapter of weight 0 halves the others in peft's TIES merge, and votes on their signs: [1, 0] is not the first one.
#
# Guess before the run: `add_weighted_adapter(["a", "b"], [1.0, 0.0], "c", combination_type="ties", density=1.0)` is
# adapter "a", as it is with "linear", "cat", "svd" and "magnitude_prune".
# Seen: peft 0.21.2. Signs are elected by the adapters without their weights, and the sum is divided by the number of
# adapters that have the elected sign, weight 0 or not. Of the numbers of "a" 25 % are in "c" as they are, 52 % halved,
# where "b" has the same sign, and 23 % are 0, where "b" is larger and has the other sign. "dare_ties" does the same. A
# search for weights that turns an adapter down to 0 does not come to the merge without it.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    peft==0.21.2 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import warnings

import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel

warnings.filterwarnings("ignore")
sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
torch.manual_seed(0)
config = LoraConfig(target_modules=["query", "value"], r=4, lora_alpha=4)
model = get_peft_model(BertModel(BertConfig(**sizes, intermediate_size=64)), config, adapter_name="a")
model.add_adapter("b", config)
with torch.no_grad():
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.copy_(0.1 * torch.randn_like(parameter))


def numbers(adapter):
    return torch.cat([one.flatten() for name, one in model.named_parameters() if f".{adapter}.weight" in name])


first = numbers("a")
words = []
for kind in ("linear", "magnitude_prune", "ties", "dare_ties"):
    options = {} if kind == "linear" else {"density": 1.0}
    model.add_weighted_adapter(["a", "b"], [1.0, 0.0], "c", combination_type=kind, **options)
    ratio = numbers("c") / first
    model.delete_adapter("c")
    shares = [((ratio - value).abs() < 1e-3).float().mean().item() for value in (1.0, 0.5, 0.0)]
    words.append(f"{kind} {' '.join(f'{one:.2f}' for one in shares)}")
print(f"peft {importlib.metadata.version('peft')}, weights 1 and 0, shares kept, halved and 0: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2, weights 1 and 0, shares kept, halved and 0: linear 1.00 0.00 0.00; magnitude_prune 1.00\
 0.00 0.00; ties 0.25 0.52 0.23; dare_ties 0.25 0.52 0.23"
