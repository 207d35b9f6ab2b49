#!/usr/bin/env bash
# A second PiSSA or OLoRA adapter in peft changes what the first one says, and it stays so when the second is deleted.
#
# Guess before the run: `add_adapter("b", config)` leaves the outputs of adapter "a" as they are, for every
# initialization of LoRA; and `disable_adapter()` is the base model.
# Seen: peft 0.21.2. PiSSA and OLoRA take their starting values out of the base weights when an adapter is added, for
# all adapters of the model: with the second one the first, trained adapter gives other outputs, which
# `delete_adapter("b")` does not undo, and nothing is said. `disable_adapter()` gives what is left of the base model.
# Adapters that begin as zero ("gaussian" or by default) don't touch each other. So a second task breaks the first one.
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

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)


def states(model):
    with torch.no_grad():
        return model(input_ids=ids).last_hidden_state


def far(one, other):
    return "equal" if torch.allclose(one, other, atol=1e-4) else "other"


def compare(kind):
    torch.manual_seed(0)
    base = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3)).eval()
    right = states(base)
    config = LoraConfig(target_modules=["query", "value"], r=4, init_lora_weights=kind)
    model = get_peft_model(base, config, adapter_name="a").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn_like(parameter))
    trained = states(model)
    with model.disable_adapter():
        disabled = far(states(model), right)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.add_adapter("b", config)
        added = far(states(model), trained)
        model.delete_adapter("b")
    return f"disabled {disabled}, b added {added}, b deleted {far(states(model), trained)}, {len(caught)} warnings"


words = [f"{kind} {compare(kind)}" for kind in ("gaussian", "pissa", "olora")]
print(f"peft {importlib.metadata.version('peft')}: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2: gaussian disabled equal, b added equal, b deleted equal, 0 warnings; pissa disabled\
 other, b added other, b deleted other, 0 warnings; olora disabled other, b added other, b deleted other, 0 warnings"
