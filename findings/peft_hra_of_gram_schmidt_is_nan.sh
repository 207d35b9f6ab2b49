#!/usr/bin/env bash
# `HRAConfig(apply_GS=True)` of peft makes a BERT NaN before the first step: its columns begin in equal pairs.
#
# Guess before the run: a Householder reflection adapter with `apply_GS=True` and all else by default is the base model
# until it is trained, as without `apply_GS`.
# Seen: peft 0.21.2. The columns begin in equal pairs, for two equal reflections are the identity. Gram-Schmidt takes
# the first of a pair off the second, and divides the rest, zero, by its length. All 1,024 outputs of a BERT are NaN.
# With an odd rank or `init_weights=False` they are finite, but the model begins as another one; without `apply_GS` it
# begins as the base model.
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
from peft import HRAConfig, get_peft_model
from transformers import BertConfig, BertModel

warnings.filterwarnings("ignore")
sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
ids = torch.arange(5, 37).reshape(4, 8)


def states(**options):
    torch.manual_seed(0)
    model = BertModel(BertConfig(**sizes, intermediate_size=64, initializer_range=0.3)).eval()
    if options:
        model = get_peft_model(model, HRAConfig(target_modules=["query", "value", "dense"], **options)).eval()
    with torch.no_grad():
        return model(input_ids=ids).last_hidden_state


right = states()
words = []
cases = {
    "apply_GS": {"r": 8, "apply_GS": True},
    "apply_GS, r=7": {"r": 7, "apply_GS": True},
    "apply_GS, init_weights=False": {"r": 8, "apply_GS": True, "init_weights": False},
    "without": {"r": 8},
}
for name, options in cases.items():
    seen = states(**options)
    same = "as the base model" if torch.allclose(seen, right, atol=1e-4) else "another model"
    missing = int(seen.isnan().sum())
    words.append(f"{name} {f'{missing} of {seen.numel()} NaN' if missing else same}")
print(f"peft {importlib.metadata.version('peft')}, HRA before training: {'; '.join(words)}")
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "peft 0.21.2, HRA before training: apply_GS 1024 of 1024 NaN; apply_GS, r=7 another model; apply_GS,\
 init_weights=False another model; without as the base model"
