#!/usr/bin/env bash
# Gates of the package adapters (UniPELT) average over padding: a text's states depend on the longest text of its batch.
#
# Guess before the run: with an attention mask the states of a text are the same alone and beside a longer one, as
# they are without an adapter and with a LoRA.
# Seen: adapters 1.3.0 with transformers 4.57.6, no warning. `use_gating=True` of LoRA, bottleneck and prefix-tuning
# adapters and of UniPELT, which has all three, computes the gate as the mean of a sigmoid over all positions; those
# of [PAD] count as well. Eight tokens have other states with 8 or 50 positions of padding behind them.
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

import adapters
import torch
from transformers import BertConfig, BertModel

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 13)[None]


def compare(config):
    """Returns whether the states of eight tokens stay the same with padding behind them."""
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3))
    adapters.init(model)
    if config is not None:
        model.add_adapter("a", config=config)
        model.set_active_adapters("a")
    with torch.no_grad():  # as trained
        for name, parameter in model.named_parameters():
            if ".a." in name:
                parameter.add_(0.5 * torch.randn_like(parameter))
        model.eval()
        rows = []
        for padding in (0, 8, 50):
            padded = torch.cat([ids, torch.zeros(1, padding, dtype=torch.long)], 1)
            rows.append(model(input_ids=padded, attention_mask=(padded > 0).long()).last_hidden_state[:, :8])
    return " ".join("equal" if torch.allclose(rows[0], row, atol=1e-3) else "other" for row in rows[1:])


kinds = {
    "no adapter": None,
    "LoRA": adapters.LoRAConfig(),
    "LoRA with a gate": adapters.LoRAConfig(use_gating=True),
    "bottleneck": adapters.SeqBnConfig(),
    "bottleneck with a gate": adapters.SeqBnConfig(use_gating=True),
    "UniPELT": adapters.UniPELTConfig(),
}
words = [f"{name} {compare(config)}" for name, config in kinds.items()]
print(f"adapters {importlib.metadata.version('adapters')}:", ", ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0: no adapter equal equal, LoRA equal equal, LoRA with a gate other other,\
 bottleneck equal equal, bottleneck with a gate other other, UniPELT other other"
