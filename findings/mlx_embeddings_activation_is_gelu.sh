#!/usr/bin/env bash
# mlx-embeddings computes every BERT with GELU: one with `hidden_act` "relu" or "silu" gets other vectors.
#
# Guess before the run: `hidden_act` of config.json is followed, or another activation than GELU is refused.
# Seen: mlx-embeddings 0.1.0, MLX 0.32.4 on a CPU. The loader keeps the keys of config.json that its classes name, and
# none names an activation. Vectors of a random BERT are those of transformers with GELU, and differ by 0.7 with ReLU
# and 0.8 with SiLU; of a ModernBERT, whose key is `hidden_activation`, by 0.7 and 0.5. Nothing is said.
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

ids = np.random.default_rng(0).integers(5, 90, (8, 20))
mask = np.ones_like(ids)
sizes = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 2}
sizes |= {"intermediate_size": 64, "initializer_range": 0.2, "pad_token_id": 0}
special = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "initializer_cutoff_factor": 9.0}


def difference(model, path):
    """Returns the largest difference of the words' vectors from those of transformers."""
    model.eval().save_pretrained(path)
    mlx_model = load_model(Path(path), path_to_repo=path)
    mlx_model = getattr(mlx_model, "model", mlx_model)
    states = mlx_model(mx.array(ids), attention_mask=mx.array(mask))
    states = states["last_hidden_state"] if isinstance(states, dict) else states.last_hidden_state
    with torch.no_grad():
        right = model(torch.tensor(ids), torch.tensor(mask)).last_hidden_state.numpy()
    return f"{np.abs(np.array(states) - right).max():.1f}"


rows = []
for name in ("gelu", "relu", "silu"):
    torch.manual_seed(0)
    bert = BertModel(BertConfig(hidden_act=name, **sizes))
    modern = ModernBertModel(ModernBertConfig(hidden_activation=name, **sizes, **special))
    pair = difference(bert, f"{sys.argv[1]}/bert_{name}"), difference(modern, f"{sys.argv[1]}/modern_{name}")
    rows.append(f"{name}: BERT {pair[0]}, ModernBERT {pair[1]}")
print(f"mlx-embeddings {importlib.metadata.version('mlx-embeddings')}:", "; ".join(rows))
PYTHON
seen=$("$folder/venv/bin/python" "$folder/program.py" "$folder" 2> /dev/null | tail -1)
echo "$seen"
test "$seen" = "mlx-embeddings 0.1.0: gelu: BERT 0.0, ModernBERT 0.0; relu: BERT 0.7, ModernBERT 0.7;\
 silu: BERT 0.8, ModernBERT 0.5"
