#!/usr/bin/env bash
# A model that peft has unloaded from LN tuning and saved is read back with a random classifier.
#
# Guess before the run: `merge_and_unload()` returns a plain model whose `save_pretrained` writes what it computes, as
# for LoRA and (IA)³: read by transformers the logits are the same.
# Seen: peft 0.21.2 with transformers 5.23.0. LN tuning puts its LayerNorms back and leaves the classifier, which
# was trained beside them, in peft's wrapper: in memory the logits are right, in the file its names are
# "classifier.modules_to_save.default.weight" and "classifier.original_module.weight". transformers reports them as
# unexpected, initializes a new classifier, and its logits differ in every run. The LayerNorms are right.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    peft==0.21.2 transformers==5.23.0 tokenizers==0.23.3 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import sys

import peft
import torch
from transformers import BertConfig, BertForSequenceClassification

sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)
kinds = {
    "LoRA": peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query", "value"]),
    "(IA)³": peft.IA3Config(
        task_type="SEQ_CLS", target_modules=["query", "value"], feedforward_modules=[]
    ),
    "LN tuning": peft.LNTuningConfig(task_type="SEQ_CLS", target_modules=["LayerNorm"]),
}


def save_and_load(kind):
    torch.manual_seed(0)
    config = BertConfig(**sizes, intermediate_size=64, initializer_range=0.3)
    model = peft.get_peft_model(BertForSequenceClassification(config), kinds[kind])
    optimizer = torch.optim.SGD([one for one in model.parameters() if one.requires_grad], 0.05)
    for _ in range(3):
        model(input_ids=ids, labels=torch.tensor([0, 1, 1, 0])).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    path = f"{sys.argv[1]}/{list(kinds).index(kind)}"
    with torch.no_grad():
        right = model(input_ids=ids).logits
        unloaded = model.merge_and_unload()
        unloaded.save_pretrained(path)
        loaded = BertForSequenceClassification.from_pretrained(path).eval()
        found = [one(input_ids=ids).logits for one in (unloaded, loaded)]
        states = [one.bert(input_ids=ids).pooler_output for one in (unloaded, loaded)]
    same = [
        torch.allclose(right, found[0], atol=1e-4),
        torch.allclose(right, found[1], atol=1e-4),
        torch.allclose(*states, atol=1e-4),
    ]
    words = " ".join("equal" if one else "other" for one in same)
    return f"{kind} {words}"


print(f"peft {peft.__version__}, in memory, saved, its encoder:", ", ".join(save_and_load(kind) for kind in kinds))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2, in memory, saved, its encoder:\
 LoRA equal equal equal, (IA)³ equal equal equal, LN tuning equal other equal"
