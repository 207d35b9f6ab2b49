#!/usr/bin/env bash
# A boolean attention mask is turned round by ModernBERT of mlx-embeddings: the words are masked, the padding is read.
#
# Guess before the run: a mask of booleans is one of ones and zeros, as in transformers, and as for the BERT and the
# XLM-RoBERTa of mlx-embeddings.
# Seen: mlx-embeddings 0.1.0, MLX 0.32.4 on a CPU. The mask becomes 0 for words and -1e9 for padding, and is then cast
# to the type it came in: False and True, which MLX's attention takes for "leave out" and "read". Texts with other words
# and the same padding have one vector per position that no other word has changed; a text without padding has no key
# left. With integers or floats ModernBERT is right, and BERT and XLM-RoBERTa are right with all three.
#
# Installs pinned packages into a temporary folder, without this project; fails if this changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv --without-pip "$folder/venv"
python3 -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check --no-compile \
    mlx-embeddings==0.1.0 mlx==0.32.4 mlx-cpu==0.32.4 transformers==5.23.0 torch==2.13.0 numpy==2.4.6
cat > "$folder/program.py" <<'PYTHON'
import importlib.metadata
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from mlx_embeddings.utils import load_model
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel

sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
sizes |= {"intermediate_size": 64, "initializer_range": 0.3, "pad_token_id": 0}
special = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "initializer_cutoff_factor": 9.0}
ids = np.random.default_rng(0).integers(5, 90, (2, 12))
mask = np.ones_like(ids)
mask[:, 8:] = 0
changed = ids.copy()
changed[:, 7] = 99
repadded = ids.copy()
repadded[:, 11] = 99
torch.manual_seed(0)
rows = []
for model in (BertModel(BertConfig(**sizes)), ModernBertModel(ModernBertConfig(**sizes, **special))):
    name = type(model).__name__.removesuffix("Model")
    path = Path(sys.argv[1]) / name
    model.eval().save_pretrained(path)
    mlx_model = load_model(path, path_to_repo=str(path))
    mlx_model = getattr(mlx_model, "model", mlx_model)
    with torch.no_grad():
        right = model(torch.tensor(ids), torch.tensor(mask)).last_hidden_state.numpy()
    for kind in ("int32", "float32", "bool"):

        def first(ids):
            """Returns the vectors of the first words."""
            states = mlx_model(mx.array(ids), attention_mask=mx.array(mask.astype(kind)))
            states = states["last_hidden_state"] if isinstance(states, dict) else states.last_hidden_state
            return np.array(states)[:, 0]

        row = f"{name} {kind} as transformers {np.allclose(first(ids), right[:, 0], atol=0.01)}"
        row += f", sees another word {not np.allclose(first(ids), first(changed))}"
        rows.append(f"{row}, other padding {not np.allclose(first(ids), first(repadded))}")
print(f"mlx-embeddings {importlib.metadata.version('mlx-embeddings')}:", "; ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embeddings 0.1.0: Bert int32 as transformers True, sees another word True, other padding False;\
 Bert float32 as transformers True, sees another word True, other padding False;\
 Bert bool as transformers True, sees another word True, other padding False;\
 ModernBert int32 as transformers True, sees another word True, other padding False;\
 ModernBert float32 as transformers True, sees another word True, other padding False;\
 ModernBert bool as transformers False, sees another word False, other padding True"
