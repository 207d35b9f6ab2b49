#!/usr/bin/env bash
# `reset_adapter` of the package adapters does not take a merged DoRA out again: the base model is another one for good.
#
# Guess before the run: `merge_adapter` puts the adapter into the weights, `reset_adapter` takes it out, as its
# documentation says; then the model has the states with the adapter as before, and without it those of the base.
# Seen: adapters 1.3.0 with transformers 4.57.6, no warning. It is so for LoRA and (IA)³. Of DoRA and DVoRA merging
# is right, but taking out computes the old weights and does not assign them: the update stays in, while the layer
# counts as not merged. So the model without the adapter has the states of the adapter, with the adapter the update
# works twice, and nothing brings the base model back but loading it anew.
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
ids = torch.arange(5, 37).reshape(4, 8)


def compare(config):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3))
    adapters.init(model)
    model.add_adapter("a", config=config)
    model.train_adapter("a")
    with torch.no_grad():  # as trained
        for name, parameter in model.named_parameters():
            if ".a." in name and parameter.requires_grad:
                parameter.add_(0.2 * torch.randn_like(parameter))

    def states():
        with torch.no_grad():
            return model.eval()(input_ids=ids).last_hidden_state

    model.set_active_adapters(None)
    base = states()
    model.set_active_adapters("a")
    right = states()
    model.merge_adapter("a")
    pairs = [(right, states())]
    model.reset_adapter()
    pairs += [(right, states())]
    model.set_active_adapters(None)
    pairs += [(base, states()), (right, states())]
    return " ".join("equal" if torch.allclose(*pair, atol=1e-3) else "other" for pair in pairs)


kinds = {
    "LoRA": adapters.LoRAConfig(),
    "(IA)³": adapters.IA3Config(),
    "DoRA": adapters.DoRAConfig(),
    "DVoRA": adapters.DvoRAConfig(),
}
print(
    f"adapters {importlib.metadata.version('adapters')}, merged, reset, its base, base as with it:",
    ", ".join(f"{name} {compare(config)}" for name, config in kinds.items()),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0, merged, reset, its base, base as with it:\
 LoRA equal equal equal other, (IA)³ equal equal equal other,\
 DoRA equal other other equal, DVoRA equal other other equal"
