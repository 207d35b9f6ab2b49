#!/usr/bin/env bash
# A LoRA of peft on tied word embeddings is another model once it is merged: BERT's unwarned, a Llama's added twice.
#
# Guess before the run: `ensure_weight_tying=True` puts the LoRA of the word embeddings on the output layer as well,
# which shares their table, so that the merged model gives the logits of the trained one; without it peft warns.
# Seen: peft 0.21.2, transformers 5.23.0, torch 2.13.0. BERT: no warning; the LoRA adds to the inputs alone, and
# merged into the table to the outputs too, so that the logits differ. `ensure_weight_tying=True` changes nothing of
# this, and warns that no tied module is among the targets: in the source a module counts as an embedding if it is
# called "embed_tokens" or "lm_head", and BERT's are "word_embeddings" and "decoder". A Llama is warned of, and tied
# if asked. But then the embeddings and the output layer merge the same product into the one table after each other:
# it moves by twice the LoRA, and the logits differ again. In `modules_to_save` the embeddings of BERT merge rightly.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    peft==0.21.2 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import warnings

import peft
import torch
from transformers import BertConfig, BertForMaskedLM, LlamaConfig, LlamaForCausalLM

sizes = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.2,
    "tie_word_embeddings": True,
}
ids = torch.arange(5, 37).reshape(4, 8)


def merge(kind, config, name, tied):
    """Returns what peft warned of, by how many LoRAs merging moves the table, and whether the logits stay."""
    torch.manual_seed(0)
    model = kind(config)
    table = model.get_input_embeddings().weight.detach().clone()
    settings = peft.LoraConfig(
        r=4, target_modules=[name], init_lora_weights=False, ensure_weight_tying=tied
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = peft.get_peft_model(model, settings).eval()
    said = " ".join(str(warning.message) for warning in caught)
    said = "none tied" if "no tied modules" in said else "warned" if "tied layer" in said else "silent"
    with torch.no_grad():
        lora = model.get_input_embeddings().get_delta_weight("default").clone()
        before = model(input_ids=ids).logits
        model = model.merge_and_unload()
        after = model(input_ids=ids).logits
        times = ((model.get_input_embeddings().weight - table) / lora).median().item()
    logits = "equal" if torch.allclose(before, after, rtol=1e-3, atol=1e-3) else "other"
    return f"{said} {times:.0f} {logits}"


kinds = (
    ("BERT", BertForMaskedLM, BertConfig(**sizes), "word_embeddings"),
    ("Llama", LlamaForCausalLM, LlamaConfig(**sizes), "embed_tokens"),
)
words = [
    f"{label} {merge(*kind, False)}, to be tied {merge(*kind, True)}" for label, *kind in kinds
]
print(f"peft {peft.__version__}:", "; ".join(words))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2: BERT silent 1 other, to be tied none tied 1 other;\
 Llama warned 1 other, to be tied silent 2 other"
