#!/usr/bin/env bash
# A VeRA and a DiReFT adapter that the package adapters saves give other outputs when they are loaded again.
#
# Guess before the run: `save_adapter` and `load_adapter` on the same weights give the same hidden states, as they do
# for a LoRA.
# Seen: adapters 1.3.0 with transformers 4.57.6, no warning. VeRA learns vectors for two frozen random matrices which
# all layers share; the file has the vectors alone, `init_weights_seed` is empty, and loading draws other matrices.
# With a seed in the configuration the states are equal. DiReFT: `subtract_projection = False` has no annotation in
# its dataclass, so it is no field, is not written, and the adapter comes back with LoReFT's subtraction.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    adapters==1.3.0 transformers==4.57.6 tokenizers==0.22.2 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import copy
import importlib.metadata
import sys

import adapters
import torch
from transformers import BertConfig, BertModel

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)
torch.manual_seed(0)
base = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3)).eval()


def states(model):
    with torch.no_grad():
        return model.eval()(input_ids=ids).last_hidden_state


def save_and_load(config, path):
    """Returns whether the hidden states are the same after saving and loading."""
    model = copy.deepcopy(base)
    adapters.init(model)
    model.add_adapter("a", config=config)
    with torch.no_grad():  # as trained
        for name, parameter in model.named_parameters():
            if ".a." in name and parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.set_active_adapters("a")
    model.save_adapter(path, "a")
    loaded = copy.deepcopy(base)
    adapters.init(loaded)
    loaded.load_adapter(path, set_active=True)
    return "equal" if torch.allclose(states(model), states(loaded), atol=1e-5) else "other"


kinds = {
    "LoRA": adapters.LoRAConfig(),
    "VeRA": adapters.VeraConfig(),
    "VeRA with a seed": adapters.VeraConfig(init_weights_seed=7),
    "LoReFT": adapters.LoReftConfig(),
    "DiReFT": adapters.DiReftConfig(),
}
words = [f"{name} {save_and_load(config, f'{sys.argv[1]}/{name}')}" for name, config in kinds.items()]
print(f"adapters {importlib.metadata.version('adapters')}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0: LoRA equal, VeRA other, VeRA with a seed equal, LoReFT equal, DiReFT other"
