#!/usr/bin/env bash
# Averaging LoRAs by SVD in the package adapters weakens them by the rank: at twice the rank half the update is left.
#
# Guess before the run: `average_adapter(…, combine_strategy="lora_delta_w_svd", svd_rank=…)` has the weighted sum of
# the updates as soon as `svd_rank` is enough for it; of weights 1 and 0 it is the first adapter.
# Seen: adapters 1.3.0 with transformers 4.57.6, no warning. The sum is split into the new matrices, but the scale of
# the new adapter is alpha / svd_rank where that of the old ones is alpha / r: with r = 4 the update has half its
# strength at rank 8, which two adapters need, and a quarter at 16. Only at the old
# rank, which can't hold the sum of two, weights 1 and 0 give the first adapter.
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
torch.manual_seed(0)
model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3))
adapters.init(model)
for name in "ab":
    model.add_adapter(name, config=adapters.LoRAConfig(r=4, alpha=8))
with torch.no_grad():  # as trained
    for name, parameter in model.named_parameters():
        if ".a." in name or ".b." in name:
            parameter.add_(0.2 * torch.randn_like(parameter))


def states(name):
    model.set_active_adapters(name)
    with torch.no_grad():
        return model.eval()(input_ids=ids).last_hidden_state


def update(name):
    lora = model.encoder.layer[0].attention.self.query.loras[name]
    return (lora.lora_B @ lora.lora_A * lora.scaling).detach()


def average(weights, rank):
    """Returns the strength of the averaged update beside the weighted sum of updates."""
    name = f"{weights} {rank}".replace(".", "_")
    model.average_adapter(
        name,
        ["a", "b"],
        weights=weights,
        combine_strategy="lora_delta_w_svd",
        normalize_weights=False,
        svd_rank=rank,
    )
    right = weights[0] * update("a") + weights[1] * update("b")
    same = weights == [1.0, 0.0] and torch.allclose(states(name), states("a"), atol=1e-3)
    return f"{(update(name) * right).sum() / (right * right).sum():.2f}{' equal' if same else ''}"


words = [f"1 and 0 at rank {rank} {average([1.0, 0.0], rank)}" for rank in (4, 8, 16)]
words += [f"half and half at rank 8 {average([0.5, 0.5], 8)}"]
print(f"adapters {importlib.metadata.version('adapters')}: {', '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "adapters 1.3.0: 1 and 0 at rank 4 1.00 equal, 1 and 0 at rank 8 0.50, 1 and 0 at rank 16 0.25,\
 half and half at rank 8 0.50"
