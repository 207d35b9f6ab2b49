#!/usr/bin/env bash
# `Average` of the package adapters divides by the number of adapters twice: of weights 1 and 0 half an adapter is left.
#
# Guess before the run: `Average("a", "b", weights=[1, 0])` is the model with adapter a, and the average of three
# copies of a as well, since the weights are normalized to a sum of 1.
# Seen: adapters 1.3.0 with transformers 4.57.6, LoRA, (IA)³ and bottleneck adapters. The weighted outputs are then
# averaged (`torch.mean`), not added up, so that half of a is left of two adapters and a third of three. Weights [2, 0]
# with `normalize_weights=False` give the model with a. `average_adapter`, which averages parameters, is right.
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
from adapters.composition import Average
from transformers import BertConfig, BertModel

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)


def compare(kind):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3))
    adapters.init(model)
    for name in "ab":
        model.add_adapter(name, config=kind)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".a." in name or ".b." in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
    model.average_adapter("c", ["a", "b"], weights=[1.0, 0.0], combine_strategy="linear")
    model.eval()

    def states(setup):
        model.set_active_adapters(setup)
        with torch.no_grad():
            return model(input_ids=ids).last_hidden_state

    right = states("a")
    setups = (
        Average("a", "b", weights=[1.0, 0.0]),
        Average("a", "a", "a"),
        Average("a", "b", weights=[2.0, 0.0], normalize_weights=False),
        "c",
    )
    return " ".join("equal" if torch.allclose(right, states(one), atol=1e-4) else "other" for one in setups)


print(
    f"adapters {importlib.metadata.version('adapters')}, weights 1 and 0, three times a, 2 and 0, of parameters:",
    "; ".join(f"{kind} {compare(kind)}" for kind in ("lora", "ia3", "seq_bn")),
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0, weights 1 and 0, three times a, 2 and 0, of parameters:\
 lora other other equal equal; ia3 other other equal equal; seq_bn other other equal equal"
