#!/usr/bin/env bash
# `add_weighted_adapter` of peft makes a rank-stabilized LoRA √rank times as strong, and drops the magnitudes of a DoRA.
#
# Guess before the run: an adapter combined with weight 1 alone is that adapter, in each of the three ways "linear",
# "cat" and "svd", for all kinds of LoRA that are not refused.
# Seen: peft 0.21.2, no warning. The new adapter gets the rank as `lora_alpha`, so that a plain LoRA is scaled by 1;
# `use_rslora` is kept, and with it the scale is rank / √rank: four times the update at rank 16. The new adapter of a
# DoRA computes magnitudes from the untouched weights instead of the trained ones. A plain LoRA is combined rightly.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    peft==0.21.2 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import peft
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)


def combine(**kind):
    """Returns the strength of an adapter's update combined with weight 1, and whether the logits stay."""
    torch.manual_seed(0)
    config = BertConfig(**sizes, intermediate_size=64, initializer_range=0.2)
    settings = peft.LoraConfig(r=16, lora_alpha=8, target_modules=["query", "value", "dense"], **kind)
    model = peft.get_peft_model(BertForSequenceClassification(config), settings, adapter_name="a")
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 0.3)
    for _ in range(20):
        model(input_ids=ids, labels=torch.tensor([0, 1, 1, 0])).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    layer = model.base_model.model.bert.encoder.layer[0].attention.self.query
    words = []
    with torch.no_grad():
        right = model(input_ids=ids).logits
        for way in ("linear", "cat", "svd"):
            model.add_weighted_adapter(["a"], [1.0], way, combination_type=way)
            model.set_adapter(way)
            strength = layer.get_delta_weight(way).norm() / layer.get_delta_weight("a").norm()
            same = torch.allclose(right, model(input_ids=ids).logits, atol=1e-3)
            words.append(f"{strength:.1f} {'equal' if same else 'other'}")
    return ", ".join(words)


print(
    f"peft {peft.__version__}: LoRA {combine()}; rsLoRA {combine(use_rslora=True)}; DoRA {combine(use_dora=True)}"
)
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2: LoRA 1.0 equal, 1.0 equal, 1.0 equal;\
 rsLoRA 4.0 other, 4.0 other, 4.0 other; DoRA 1.0 other, 1.0 other, 1.0 other"
